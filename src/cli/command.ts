// The interface of a command, and what all commands share: exit codes, usage errors, printing of
// problems.

import { existsSync } from 'node:fs'
import type { Writable } from 'node:stream'
import { type ParseArgsConfig, parseArgs } from 'node:util'
import { visibleLine } from '../core/hidden-characters.ts'
import { formatProblem, type Problem } from '../core/problem.ts'
import { nearest } from '../core/suggest.ts'

/** 0 success, 1 findings or failure, 2 could not run. */
export type ExitCode = 0 | 1 | 2

/**
 * What a command writes to and which variables it reads; only `dispatch` knows the process's own.
 */
export interface CommandIo {
  readonly out: CommandOutput
  readonly err: CommandOutput
  readonly env: NodeJS.ProcessEnv
}

/** `isTTY` is true for a terminal. */
export type CommandOutput = Writable & { readonly isTTY?: boolean }

/** What a value of an option or an argument names, for completion: a path, or one of the words. */
export type Completed = 'path' | readonly string[]

/** Options as `parseArgs` takes them. One without `takes` has a free text. */
export type CommandOptions = Readonly<
  Record<
    string,
    {
      readonly type: 'string' | 'boolean'
      readonly multiple?: boolean
      readonly default?: string | boolean
      readonly takes?: Completed
    }
  >
>

export interface Command {
  readonly name: string
  /** One line in the list of commands. */
  readonly summary: string
  /** All that it takes besides --help. */
  readonly options: CommandOptions
  /** Its first argument: an action, or a path as all others. Absent if it takes a text, or none. */
  readonly argument?: Completed
  /** Text of `sidegate NAME --help`. */
  readonly help: string
  /** Text of `--help` next to other arguments, where it differs. */
  readonly helpFor?: (args: readonly string[]) => string | null
  /** Runs until a signal. Only its log writes to standard output, without Node's stream. */
  readonly isService?: true
  /** Options of Node and variables of a service whose heap is not the gateway's. */
  readonly memory?: {
    readonly options: readonly string[]
    readonly env: Readonly<Record<string, string>>
  }
  run(args: readonly string[], io: CommandIo): Promise<ExitCode>
}

/** Bad arguments. Printed with a pointer to the help; exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** Returns `; did you mean …?` with the nearest known word, or nothing. */
export function suggestion(word: string, known: readonly string[]): string {
  const close = nearest(word, known)
  return close === null ? '' : `; did you mean ${close}?`
}

/** The error of a command without one of its actions, or of what else its first argument names. */
export const noAction = (
  given: string | undefined,
  actions: readonly string[],
  noun = 'action',
): UsageError => {
  const known = `${actions.slice(0, -1).join(', ')} or ${actions.at(-1)}`
  return given === undefined
    ? new UsageError(`give ${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}: ${known}`)
    : new UsageError(
        `there is no ${noun} ${visibleLine(given)}${suggestion(given, actions)} (${noun}s: ${known})`,
      )
}

type ParsedOptions = NonNullable<ParseArgsConfig['options']>
type Parsed<Options extends ParsedOptions> = ReturnType<
  typeof parseArgs<{ options: Options; allowPositionals: true }>
>

/**
 * Reads the options and the other arguments of a command, as Node's `parseArgs` does.
 * @throws UsageError for an unknown option, with the nearest known one; TypeError as `parseArgs`
 */
export const parseArguments = <const Options extends ParsedOptions>(
  args: readonly string[],
  options: Options,
): Parsed<Options> => parse(args, options, true)

/** Reads the options of a command that takes nothing else. @throws as `parseArguments` */
export const parseOptions = <const Options extends ParsedOptions>(
  args: readonly string[],
  options: Options,
): Pick<Parsed<Options>, 'values'> => parse(args, options, false)

function parse<const Options extends ParsedOptions>(
  args: readonly string[],
  options: Options,
  allowPositionals: boolean,
): Parsed<Options> {
  try {
    return parseArgs({ args: [...args], options, allowPositionals }) as Parsed<Options>
  } catch (error) {
    // Node's message ends in advice with an open quote.
    const unknown =
      (error as NodeJS.ErrnoException).code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION'
        ? /^Unknown option '([^']*)'/.exec((error as Error).message)?.[1]
        : undefined
    if (unknown === undefined) throw error
    const known = Object.keys({ ...options, help: {} }).map((name) => `--${name}`)
    throw new UsageError(`there is no option ${visibleLine(unknown)}${suggestion(unknown, known)}`)
  }
}

/** Where a configuration may be: that of a checkout or an image, then that of `init`. */
const CONFIG_FILES = ['config/sidegate.yaml', 'sidegate.yaml'] as const

/** The default configuration, as help texts name it. */
export const DEFAULT_CONFIG = CONFIG_FILES.join(', else ')

/** Returns the default configuration that exists; the first name if none does. */
export const defaultConfig = (): string => CONFIG_FILES.find((file) => existsSync(file)) ?? CONFIG_FILES[0]

export const writeLine = (output: CommandOutput, text: string): void => {
  output.write(`${text}\n`)
}

/** Prints each problem on a line of `err`, then their number and the consequence. */
export function printProblems(
  { err }: Pick<CommandIo, 'err'>,
  problems: readonly Problem[],
  consequence: string,
): void {
  for (const problem of problems) writeLine(err, formatProblem(problem))
  const count = problems.length === 1 ? '1 error' : `${problems.length} errors`
  writeLine(err, `${count}; ${consequence}`)
}
