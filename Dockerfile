# Build: docker build --build-arg NODE_IMAGE=node:24-bookworm-slim@sha256:… .
# Pin the digest of the image's index, not of one platform, so that buildx --platform
# linux/amd64,linux/arm64 works. No step runs on the target platform, so nothing is emulated.
ARG NODE_IMAGE=node:24-bookworm-slim

# Checks types and builds dist/, with compiled code for the platform of this stage; others compile at
# start. Makes the data folder, because the last stage runs no command.
FROM --platform=$BUILDPLATFORM ${NODE_IMAGE} AS build
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts
COPY tsconfig.json .build.ts .build-console.ts ./
COPY config config
COPY src src
RUN node node_modules/typescript/bin/tsc -p tsconfig.json \
  && node node_modules/typescript/bin/tsc -p src/console/tsconfig.json \
  && node .build.ts && mkdir data

# Production dependencies for the target's processor, and their SBOM (CycloneDX).
FROM --platform=$BUILDPLATFORM ${NODE_IMAGE} AS dependencies
ARG TARGETARCH
WORKDIR /build
COPY package.json package-lock.json ./
RUN case "${TARGETARCH:-amd64}" in amd64) cpu=x64 ;; *) cpu="$TARGETARCH" ;; esac \
  && npm ci --omit=dev --ignore-scripts --os=linux --libc=glibc --cpu="$cpu" \
  && npm sbom --omit=dev --package-lock-only --sbom-format=cyclonedx > sbom.cdx.json

# Runtime image: no compiler, and only the data volume is writable.
FROM ${NODE_IMAGE}
LABEL org.opencontainers.image.title="sidegate" \
  org.opencontainers.image.description="LLM gateway: redacts personal data, enforces policy rules, keeps a tamper-evident usage log"
# Each malloc arena keeps freed memory; two are enough.
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
# Uses the port of the sample configuration. With another `listen.ops`, pass --health-cmd. Kubernetes
# ignores this and uses its own probes.
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:9484/readyz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# The first line of dist/main.js starts Node with its options.
ENTRYPOINT ["dist/main.js"]
CMD ["serve", "--config", "config/sidegate.yaml"]
