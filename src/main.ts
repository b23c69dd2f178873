#!/usr/bin/env -S node --expose-gc --max-semi-space-size=16
// Arguments, environment, exit code; no logic. What needs a recent Node is imported only once the version is known.

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 19)) {
  console.error(
    `sidegate needs Node 22.19 or later; this is ${process.version}. Use npm start, which brings its own.`,
  )
  process.exit(2)
}

const { dispatch } = await import('./cli/dispatch.ts')

process.exitCode = await dispatch(process.argv.slice(2), {
  serve: async () =>
    (await import('./cli/serve.ts')).serve(async (...given) =>
      (await import('./gateway.ts')).runGateway(...given),
    ),
  demo: async () => (await import('./cli/demo.ts')).demo((await import('./gateway.ts')).runGateway),
  check: async () => (await import('./cli/check.ts')).check,
  test: async () => (await import('./cli/test.ts')).test,
  diff: async () => (await import('./cli/diff.ts')).diff,
  keys: async () => (await import('./cli/keys.ts')).keys,
  audit: async () => (await import('./cli/audit.ts')).audit,
})
// Nothing is left to do: a connection that lingers must not keep the process.
process.exit()
