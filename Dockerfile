# Build: types are checked and compiled to dist/, production dependencies are installed apart.
ARG NODE_IMAGE=node:24-bookworm-slim
FROM ${NODE_IMAGE} AS build
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts
COPY tsconfig.json ./
COPY src src
RUN node node_modules/typescript/bin/tsc -p tsconfig.json

FROM ${NODE_IMAGE} AS dependencies
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts

# Run: no compiler, no package manager needed, nothing writable but the data volume.
FROM ${NODE_IMAGE}
ENV NODE_ENV=production
WORKDIR /app
COPY package.json ./
COPY --from=dependencies /build/node_modules node_modules
COPY --from=build /build/dist dist
COPY config config
RUN mkdir data && chown 65532:65532 data
USER 65532:65532
VOLUME /app/data
EXPOSE 8484 9484
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:9484/readyz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "dist/main.js"]
CMD ["serve", "--config", "config/sidegate.yaml"]
