"""What tokenizers leave behind: what is put together, and what must be left alone."""

import pytest

from translator.corpus.normalize.tokenized import english_contractions, english_signs, english_text, unescape


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("it 's the world 's end", "it's the world's end"),
        ("don 't , do n't , I 'll", "don't , don't , I'll"),
        ("they 've we 're I 'd I 'm", "they've we're I'd I'm"),
        ("say 's' and 'tis and 't we", "say 's' and 'tis and 't we"),
        ("the boys ' toys", "the boys ' toys"),
        ("ca n't wo n't DID N'T", "can't won't DIDN'T"),
        ("gon na see , Got ta go , wan na", "gonna see , Gotta go , wanna"),
        ("his gon nature", "his gon nature"),
        ("'t is and 'T was", "'tis and 'Twas"),
        ("the ship' s world' s", "the ship's world's"),
        ("the regexp 's' and ' s", "the regexp 's' and ' s"),
        ("(who) 's in the 1800 's", "(who)'s in the 1800's"),
    ],
)
def test_english_contractions(text: str, joined: str) -> None:
    assert english_contractions(text) == joined


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("R &amp; D", "R & D"),
        ("&quot; yes &quot; don &apos;t", '" yes " don \'t'),
        ("&#91; 1 &#93; &lt; &#124;", "[ 1 ] < |"),
        ("می&zwnj;روم&nbsp;من", "می\u200cروم من"),
        ("well @-@ known 5 @.@ 5 a@-@b", "well-known 5.5 a-b"),
        ("-LRB- x -rrb- -LSB- y -RSB-", "( x ) [ y ]"),
        ("&copy; &ampx a@b.c @-@ -LRB-x", "&copy; &ampx a@b.c @-@ -LRB-x"),
    ],
)
def test_escapes(text: str, plain: str) -> None:
    assert unescape(text) == plain


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("$ 5 or £ 6.5 , 7 % of it", "$5 or £6.5 , 7% of it"),
        ("30 $\\times$ 30 and x % y", "30 $\\times$ 30 and x % y"),
        ("d ' Artagnan and o ' clock", "d'Artagnan and o'clock"),
        ("' yes", "'yes"),
        ("never . '", "never .'"),
        ("the servants ' hall", "the servants' hall"),
        ("' yes ' he said", "'yes' he said"),
        ("he said : ' go on '", "he said : 'go on'"),
        ("mash ' al and we ' re", "mash ' al and we ' re"),
        ("a ' b ' c ' d", "a ' b ' c ' d"),
        ("one there , ' I", "one there , ' I"),
        ("try ' em again", "try 'em again"),
        ("' '", "' '"),
    ],
)
def test_signs_of_english_text(text: str, joined: str) -> None:
    assert english_signs(text) == joined


def test_quotation_marks_in_place_of_apostrophes() -> None:
    text = 'god " s world and " yes " she can " t , " no " .'
    assert english_contractions(english_text(text)) == 'god\'s world and "yes" she can\'t, "no".'
    assert english_text('the letter " s " is') == 'the letter "s" is'
