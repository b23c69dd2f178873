// Decides which tools a list allows. A list has globs and, after `!`, globs of what it refuses.
// Case counts. Names in disguise are matched as written and as they look: after NFKC, without
// characters that nobody sees and white space around them.

import { INVISIBLE } from '../core/hidden-characters.ts'
import { PROMPT_PREFIX, SERVER_SEPARATOR, type ToolName } from '../core/tool-name.ts'
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
  const positive = globs.filter((glob) => !glob.startsWith(REFUSES)).map(toolGlob)
  const negative = refusingGlobs(globs).map(toolGlob)
  const refuses = (tool: ToolName) => negative.some((glob) => glob.names(tool))
  const isListed = (tool: ToolName) =>
    positive.length === 0
      ? negative.length > 0 && !tool.isPrompt
      : positive.some((glob) => glob.mayAllow(tool))
  return { refuses, allows: (tool) => !refuses(tool) && isListed(tool) }
}

/** Compiles globs one of which has to match, as `after` of a rule has them. */
export function compileToolGlobs(globs: readonly string[]): (tool: ToolName) => boolean {
  const tests = globs.map(toolGlob)
  return (tool) => tests.some((glob) => glob.names(tool))
}

interface ToolGlob {
  /** True for a tool that has the name in any form; of a server, when all its tools have. */
  names(tool: ToolName): boolean
  /** True when every form of a name matches; of a server, when a tool of it may match. */
  mayAllow(tool: ToolName): boolean
}

function toolGlob(glob: string): ToolGlob {
  const matches = compileGlob(glob)
  const coversAll = (prefix: string) => restsAfter(glob, prefix).some((rest) => ANYTHING.test(rest))
  return {
    names: ({ name, also, isServer }) =>
      [name, ...also].some((one) => formsOf(one).some(matches)) ||
      (isServer && formsOf(name + SERVER_SEPARATOR).some(coversAll)),
    mayAllow: ({ name, also, isServer, isPrompt }) =>
      (!isPrompt || glob.startsWith(PROMPT_PREFIX)) &&
      ([name, ...also].some((one) => formsOf(one).every(matches)) ||
        (isServer && formsOf(name + SERVER_SEPARATOR).every((one) => restsAfter(glob, one).length > 0))),
  }
}

/** The rest of a glob that matches any name of a tool. */
const ANYTHING = /^\*+$/

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

/** The forms in which a name is matched. */
const formsOf = (name: string): readonly string[] =>
  PLAIN.test(name)
    ? [name]
    : [...new Set([name, name.normalize('NFKC').replace(UNSEEN, '').normalize('NFKC').trim()])]
