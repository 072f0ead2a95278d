# Serves a run or an export of `translator` (not built by our tests): docker build -t translator .
#   docker run -p 8000:8000 -v "$PWD/runs/sample:/model:ro" translator
FROM python:3.12-slim
WORKDIR /app
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY translator translator
COPY configs configs
COPY data/sample data/sample
RUN pip install --no-cache-dir torch==2.13.0 --index-url https://download.pytorch.org/whl/cpu \
 && pip install --no-cache-dir -c constraints.txt '.[serve]'
EXPOSE 8000
ENTRYPOINT ["translator", "serve", "--run", "/model", "--host", "0.0.0.0"]
