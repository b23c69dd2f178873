// Runs test files in one process, one after the other: `node one-process.ts FILE…`. Each file imports
// `tap` as if it ran alone, and gets a test of its own, so that what it sets up ends with it.

import { registerHooks } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Test } from 'tap'

// Programs that tests start keep their compiled code instead of their coverage: they run what other
// tests import, and start in half the time.
delete process.env['NODE_V8_COVERAGE']
delete process.env['NODE_DISABLE_COMPILE_CACHE']

const TAP = import.meta.resolve('tap')
// tap names the folders of a test by the arguments, so they are taken before it is loaded.
const files = process.argv.splice(2)
const { default: t } = await import('tap')
const urls = new Set(files.map((file) => pathToFileURL(resolve(file)).href))

/** The test of each file, by the URL of the module that the file imports as `tap`. */
const tests = new Map<string, Test>()
const moduleOf = (file: string): string => `test-of:${file}`

registerHooks({
  resolve(specifier, context, next) {
    const parent = context.parentURL ?? ''
    if (specifier !== 'tap' || !urls.has(parent)) return next(specifier, context)
    return { url: moduleOf(parent), format: 'module', shortCircuit: true }
  },
  load(url, context, next) {
    if (!tests.has(url)) return next(url, context)
    const source = `export * from ${JSON.stringify(TAP)}; export default globalThis.testOf(${JSON.stringify(url)})`
    return { format: 'module', source, shortCircuit: true }
  },
})
Object.assign(globalThis, { testOf: (url: string) => tests.get(url) })

// tap removes a test's folder before the teardowns that were registered after `t.testdir()`, while a
// store may still write to it. A teardown registered before anything else makes all of them run first.
t.beforeEach((t) => t.teardown(() => {}))

for (const file of files) {
  const url = pathToFileURL(resolve(file)).href
  t.test(file, { timeout: 0 }, async (t) => {
    tests.set(moduleOf(url), t)
    await import(url)
  })
}
