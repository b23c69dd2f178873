# Build: docker build --build-arg NODE_IMAGE=node:24-bookworm-slim@sha256:… .
# Pin the digest of the image's index, not of one platform, so that buildx --platform
# linux/amd64,linux/arm64 works. No step runs on the target platform, so nothing is emulated.
ARG NODE_IMAGE=node:24-bookworm-slim

# Checks types and builds dist/. The built program answers two calls, and their compiled code is
# stored in dist/; another processor ignores it and compiles again. The data folder is made here,
# because no command runs in the last stage.
FROM --platform=$BUILDPLATFORM ${NODE_IMAGE} AS build
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts
COPY tsconfig.json .build.ts ./
COPY config config
COPY src src
RUN node node_modules/typescript/bin/tsc -p tsconfig.json && node .build.ts && mkdir data

# Installs production dependencies for the target's processor and lists them (CycloneDX).
FROM --platform=$BUILDPLATFORM ${NODE_IMAGE} AS dependencies
ARG TARGETARCH
WORKDIR /build
COPY package.json package-lock.json ./
RUN case "${TARGETARCH:-amd64}" in amd64) cpu=x64 ;; *) cpu="$TARGETARCH" ;; esac \
  && npm ci --omit=dev --ignore-scripts --os=linux --libc=glibc --cpu="$cpu" \
  && npm sbom --omit=dev --package-lock-only --sbom-format=cyclonedx > sbom.cdx.json

# The image that runs. It has no compiler, and only the data volume is writable.
FROM ${NODE_IMAGE}
LABEL org.opencontainers.image.title="sidegate" \
  org.opencontainers.image.description="LLM gateway: redacts personal data, enforces policy rules, keeps a tamper-evident usage log"
# Two arenas serve the threads that allocate; more arenas would keep freed memory.
ENV NODE_ENV=production MALLOC_ARENA_MAX=2
WORKDIR /app
COPY package.json ./
COPY --from=dependencies /build/sbom.cdx.json ./
COPY --from=dependencies /build/node_modules node_modules
COPY --from=build /build/dist dist
COPY config config
COPY --from=build --chown=65532:65532 /build/data data
USER 65532:65532
VOLUME /app/data
EXPOSE 8484 9484
# Uses the port of the sample configuration; override it with --health-cmd if `listen.ops` differs.
# Kubernetes uses its own probes.
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:9484/readyz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# By default V8 gives young objects up to 128 MiB under load and lets old objects grow to three
# times the live size. These flags limit that to a quarter and to twice, which costs some time but
# saves memory in every Pod. The minimum of 4 MiB avoids repeated collections before the first
# answer, a tenth of the start time.
ENTRYPOINT ["node", "--expose-gc", "--min-semi-space-size=4", "--max-semi-space-size=16", "--heap-growing-percent=100", "--no-memory-reducer", "dist/main.js"]
CMD ["serve", "--config", "config/sidegate.yaml"]
