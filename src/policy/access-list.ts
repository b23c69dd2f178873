// Decides which models a list allows. A list has globs and, after `!`, globs of what it refuses.
// Case counts.

import { compileGlob } from './glob.ts'

/** Begins a glob of what a list refuses. */
const REFUSES = '!'

/** Reports whether a model is allowed. */
export type AccessTest = (model: string) => boolean

/**
 * Compiles a list. It allows what a positive glob matches and no negative one does. A list of
 * negative globs alone allows everything else, and an empty list allows nothing.
 */
export function compileAccessList(globs: readonly string[]): AccessTest {
  const allowed = globs.filter((glob) => !glob.startsWith(REFUSES)).map(compileGlob)
  const refused = globs
    .filter((glob) => glob.startsWith(REFUSES))
    .map((glob) => compileGlob(glob.slice(REFUSES.length)))
  return (model) =>
    !refused.some((matches) => matches(model)) &&
    (allowed.length > 0 ? allowed.some((matches) => matches(model)) : refused.length > 0)
}

/** A glob of every model. */
const EVERY = /^\*+$/

/** Reports whether a list allows every model, so that a call whose model is not known passes it. */
export const allowsEvery = (globs: readonly string[]): boolean =>
  globs.some((glob) => EVERY.test(glob)) && !globs.some((glob) => glob.startsWith(REFUSES))

const ALLOWS_ALL: AccessTest = () => true
/** The tests of the lists of keys, for as long as the lists live. */
const tests = new WeakMap<readonly string[], AccessTest>()

/** The test of a key's list, compiled once; null for no list, which allows every model. */
export function accessOf(globs: readonly string[] | null): AccessTest {
  if (globs === null) return ALLOWS_ALL
  let test = tests.get(globs)
  if (test === undefined) {
    test = compileAccessList(globs)
    tests.set(globs, test)
  }
  return test
}
