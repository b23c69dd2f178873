# Build: docker build --build-arg NODE_IMAGE=node:24-bookworm-slim@sha256:… .
# Pin the digest of the image's index, not of one platform: then buildx --platform linux/amd64,linux/arm64 works, and
# nothing is emulated, because no step runs on the target's platform.
ARG NODE_IMAGE=node:24-bookworm-slim

# Types are checked, the program is built to dist/ and answers two calls, whose compiled code is kept there; it is for
# this stage's kind of machine, and others compile. The data folder is made here, where a command can run.
FROM --platform=$BUILDPLATFORM ${NODE_IMAGE} AS build
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts
COPY tsconfig.json .build.ts ./
COPY config config
COPY src src
RUN node node_modules/typescript/bin/tsc -p tsconfig.json && node .build.ts && mkdir data

# Production dependencies for the target's processor, and their list (CycloneDX).
FROM --platform=$BUILDPLATFORM ${NODE_IMAGE} AS dependencies
ARG TARGETARCH
WORKDIR /build
COPY package.json package-lock.json ./
RUN case "${TARGETARCH:-amd64}" in amd64) cpu=x64 ;; *) cpu="$TARGETARCH" ;; esac \
  && npm ci --omit=dev --ignore-scripts --os=linux --libc=glibc --cpu="$cpu" \
  && npm sbom --omit=dev --package-lock-only --sbom-format=cyclonedx > sbom.cdx.json

# Run: no compiler, nothing writable but the data volume.
FROM ${NODE_IMAGE}
LABEL org.opencontainers.image.title="sidegate" \
  org.opencontainers.image.description="LLM gateway: redacts personal data, enforces policy rules, keeps a tamper-evident usage log"
# More arenas than threads that allocate keep what they were given.
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
# Of the sample configuration's port; with another in `listen.ops` say so with --health-cmd. Kubernetes has its own probes.
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:9484/readyz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# V8 would give young objects 128 MiB under load, and let old ones grow to three times what is alive before it collects
# them. A quarter of the one and twice the other cost some time; memory is paid for in every pod. It would begin with
# 2 MiB, and collect again and again before the first answer: a tenth of a start.
ENTRYPOINT ["node", "--expose-gc", "--min-semi-space-size=4", "--max-semi-space-size=16", "--heap-growing-percent=100", "--no-memory-reducer", "dist/main.js"]
CMD ["serve", "--config", "config/sidegate.yaml"]
