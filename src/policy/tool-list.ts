// Decides which tools a list allows. A list has globs and, after `!`, globs of what it refuses.
// Case counts. Names in disguise are matched as written and as they look: after NFKC, without
// characters that nobody sees and white space around them. What refuses also matches names with
// letters of other scripts that look like Latin ones.

import { INVISIBLE } from '../core/hidden-characters.ts'
import { PROMPT_PREFIX, SERVER_SEPARATOR, type ToolName } from '../core/tool-name.ts'
import { asLatin } from '../keyword/characters.ts'
import { compileGlob } from './glob.ts'

/** Begins a glob of what a list refuses. */
const REFUSES = '!'

export interface ToolList {
  /** Reports whether a glob after `!` names the tool. */
  refuses(tool: ToolName): boolean
  /** Reports whether the list allows the tool. */
  allows(tool: ToolName): boolean
}

/** The globs of a list that refuse, without their `!`. */
export const refusingGlobs = (globs: readonly string[]): string[] =>
  globs.filter((glob) => glob.startsWith(REFUSES)).map((glob) => glob.slice(REFUSES.length))

/**
 * Compiles a list. It allows what a positive glob matches and no negative one does. A list of
 * negative globs alone allows everything else, and an empty list allows nothing. A tool server
 * without named tools is refused where all of its tools are, and allowed where some may be.
 */
export function compileToolList(globs: readonly string[]): ToolList {
  const positive = globs.filter((glob) => !glob.startsWith(REFUSES)).map(allowingGlob)
  const negative = refusingGlobs(globs)
  const refuses = compileToolGlobs(negative)
  const isListed = remembered((tool) =>
    positive.length === 0
      ? negative.length > 0 && !tool.isPrompt
      : positive.some((mayAllow) => mayAllow(tool)),
  )
  return { refuses, allows: (tool) => !refuses(tool) && isListed(tool) }
}

/** Compiles globs one of which has to match, as `after` of a rule has them. */
export function compileToolGlobs(globs: readonly string[]): (tool: ToolName) => boolean {
  const tests = globs.map(namingGlob)
  return remembered((tool) => tests.some((names) => names(tool)))
}

/** Names whose answers a test remembers, and the longest of them, UTF-16 units. */
const MAXIMUM_KNOWN_NAMES = 1024
const MAXIMUM_KNOWN_CHARACTERS = 128

/** A test that remembers its answer for plain tools: agents define the same ones in each call. */
function remembered(test: (tool: ToolName) => boolean): (tool: ToolName) => boolean {
  const known = new Map<string, boolean>()
  return (tool) => {
    const { name, also, isServer, isPrompt } = tool
    const isPlain = also.length === 0 && !isServer && !isPrompt
    if (!isPlain || name.length > MAXIMUM_KNOWN_CHARACTERS) return test(tool)
    let answer = known.get(name)
    if (answer === undefined) {
      answer = test(tool)
      if (known.size >= MAXIMUM_KNOWN_NAMES) known.clear()
      known.set(name, answer)
    }
    return answer
  }
}

/** Tests for a tool that has a name in any form; for a server, whether all its tools have. */
function namingGlob(glob: string): (tool: ToolName) => boolean {
  const inLatin = asLatin(glob)
  const [matches, resembles] = [compileGlob(glob), compileGlob(inLatin)]
  const names = (name: string): boolean => {
    if (matches(name)) return true
    if (PLAIN.test(name)) return false
    const seen = shown(name)
    return matches(seen) || resembles(asLatin(seen))
  }
  const coversAll = (prefix: string): boolean => {
    if (PLAIN.test(prefix)) return coversAfter(glob, prefix)
    const seen = shown(prefix)
    return coversAfter(glob, prefix) || coversAfter(glob, seen) || coversAfter(inLatin, asLatin(seen))
  }
  return ({ name, also, isServer }) =>
    names(name) || also.some(names) || (isServer && coversAll(name + SERVER_SEPARATOR))
}

/**
 * Tests for a tool that has a name in every form; for a server, whether a tool of it may.
 * Look-alikes stay what they are: a list may allow names of any script.
 */
function allowingGlob(glob: string): (tool: ToolName) => boolean {
  const matches = compileGlob(glob)
  const allows = (name: string): boolean => matches(name) && (PLAIN.test(name) || matches(shown(name)))
  const leavesRest = (prefix: string): boolean => restsAfter(glob, prefix).length > 0
  return ({ name, also, isServer, isPrompt }) => {
    if (isPrompt && !glob.startsWith(PROMPT_PREFIX)) return false
    if (allows(name) || also.some(allows)) return true
    const prefix = name + SERVER_SEPARATOR
    return isServer && leavesRest(prefix) && (PLAIN.test(prefix) || leavesRest(shown(prefix)))
  }
}

/** The rest of a glob that matches any name of a tool. */
const ANYTHING = /^\*+$/

/** Reports whether a glob matches a text with anything after it. */
const coversAfter = (glob: string, text: string): boolean =>
  restsAfter(glob, text).some((rest) => ANYTHING.test(rest))

/**
 * Returns what may be left of a glob after it has matched a text, and is not empty; nothing where
 * it cannot match. Its time is at most the length of the text times that of the glob.
 */
function restsAfter(glob: string, text: string): string[] {
  const wanted = [...glob]
  let places = reached(wanted, [0])
  for (const character of text) {
    const next = places.flatMap((at) => {
      if (wanted[at] === '*') return [at]
      return wanted[at] === '?' || wanted[at] === character ? [at + 1] : []
    })
    places = reached(wanted, next)
  }
  return places.filter((at) => at < wanted.length).map((at) => wanted.slice(at).join(''))
}

/** Places of a glob, each once, and those after a `*`, which may match nothing. */
function reached(glob: readonly string[], places: readonly number[]): number[] {
  const all = new Set<number>()
  for (const place of places) {
    let at = place
    for (all.add(at); glob[at] === '*'; all.add(at)) at++
  }
  return [...all]
}

const PLAIN = /^(?:[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)?$/

/** Controls, format characters, half surrogate pairs, and what `hidden-characters` lists. */
const UNSEEN = new RegExp(`[\\p{Cc}\\p{Cf}\\p{Cs}${INVISIBLE}]`, 'gv')

/** A name as it is seen. */
const shown = (name: string): string => name.normalize('NFKC').replace(UNSEEN, '').normalize('NFKC').trim()
