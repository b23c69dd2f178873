// The names of a tool, as requests define it, answers call it and rules match it.

import type { JsonValue } from './json.ts'

export interface ToolName {
  /** As reports have it: a function's name, `mcp:LABEL/TOOL`, or the type of a provider's tool. */
  readonly name: string
  /** Further names of the same tool: its type, or the server that has it. */
  readonly also: readonly string[]
  /** True for a tool server whose tools are not named: a rule may concern some of them. */
  readonly isServer: boolean
  /** True for names that some clients join: only a glob after `!` refuses it. */
  readonly isJoined: boolean
  /** True for a stored prompt, whose tools nobody sees: only a glob of stored prompts allows it. */
  readonly isPrompt: boolean
}

/** Separates the label of a tool server from the name of its tool. */
export const SERVER_SEPARATOR = '/'

/** Longest name that is matched, UTF-16 units: more than providers allow. Bounds a match's time. */
const MAXIMUM_NAME_CHARACTERS = 512

const cut = (name: string): string => name.slice(0, MAXIMUM_NAME_CHARACTERS)

/** The tool of a name. @param also other names of it */
export const toolNamed = (name: string, ...also: readonly string[]): ToolName => ({
  name: cut(name),
  also: also.map(cut).filter((one) => one !== name),
  isServer: false,
  isJoined: false,
  isPrompt: false,
})

/** A tool server without the names of its tools. */
export const toolServer = (label: string): ToolName => ({
  ...toolNamed(`mcp:${label}`),
  isServer: true,
})

/** A tool of a tool server. */
export const serverTool = (label: string, tool: string): ToolName =>
  toolNamed(`mcp:${label}${SERVER_SEPARATOR}${tool}`, `mcp:${label}`)

/** Begins the name of a stored prompt. */
export const PROMPT_PREFIX = 'prompt:'

/** A prompt that the provider keeps, with the tools that it may bring. */
export const storedPrompt = (id: string): ToolName => ({
  ...toolNamed(PROMPT_PREFIX + id),
  isPrompt: true,
})

/** The tool of names that a client joins. */
export const joinedTool = (first: string, next: string): ToolName => ({
  ...toolNamed(first + next),
  isJoined: true,
})

/**
 * The name that a member of a body has: of a value that is no string, its text, as clients in
 * JavaScript read it. Null for no name.
 */
export function writtenName(value: JsonValue | undefined): string | null {
  if (value === undefined || value === null || value === '') return null
  if (typeof value === 'object' && !Array.isArray(value)) return '[object Object]'
  return String(Array.isArray(value) ? value.flat(MAXIMUM_LEVELS).join() : value)
}

/** Levels of a list in place of a name that are read. */
const MAXIMUM_LEVELS = 8
