// Runs the command of a command line. Answers --help and --version; turns bad arguments into exit
// code 2 and output that could not be written into exit code 1.

import { visibleLine } from '../core/hidden-characters.ts'
import { VERSION } from '../core/version.ts'
import { type Command, type CommandIo, type ExitCode, suggestion, writeLine } from './command.ts'
import { boundHeap, COMMAND_BYTES, memoryFault, startWith } from './command-memory.ts'
import { Output } from './output.ts'
import { isPid1, runInChild } from './pid1.ts'
import { killOnUncaughtError } from './signals.ts'

function overview(commands: readonly Command[]): string {
  const width = Math.max(...commands.map(({ name }) => name.length)) + 2
  return [
    'Usage: sidegate COMMAND [options]',
    '',
    'An LLM gateway sidecar: redacts personal data, enforces policy rules and keeps a',
    'tamper-evident usage log in front of any OpenAI-compatible API.',
    '',
    ...commands.map(({ name, summary }) => `  ${name.padEnd(width)}${summary}`),
    '',
    '  --help     print this text; `sidegate COMMAND --help` for a command',
    '  --version  print the version',
    '',
    'Exit: 0 success, 1 findings or failure, 2 could not run.',
    '',
  ].join('\n')
}

/**
 * The streams of the process. A service writes to neither through Node, so they are made on demand.
 */
const PROCESS_IO: CommandIo = {
  get out() {
    return process.stdout
  },
  get err() {
    return process.stderr
  },
  env: process.env,
}

/** @param commands in the order of the overview */
export async function dispatch(args: readonly string[], commands: readonly Command[]): Promise<ExitCode> {
  const [name, ...rest] = args
  const command = commands.find((one) => one.name === name)
  if (command?.isService === true && !asksForHelp(rest)) {
    if (command.memory !== undefined) startWith(command.memory.options, command.memory.env)
    killOnUncaughtError()
    return run(command, rest, PROCESS_IO)
  }
  if (command !== undefined && isPid1()) return runInChild()
  const fault = command === undefined ? null : memoryFault(COMMAND_BYTES)
  if (fault !== null) {
    writeLine(PROCESS_IO.err, `sidegate ${name}: ${fault}`)
    return 2
  }
  boundHeap()
  const output = new Output()
  const code = await answer(args, commands, PROCESS_IO)
  const unwritten = await output.end()
  if (unwritten === null) return code
  writeLine(PROCESS_IO.err, `sidegate${command === undefined ? '' : ` ${command.name}`}: ${unwritten}`)
  return code === 2 ? 2 : 1
}

/** Answers a command line: runs its command, or prints what there is. */
export async function answer(
  [name, ...rest]: readonly string[],
  commands: readonly Command[],
  io: CommandIo,
): Promise<ExitCode> {
  const command = commands.find((one) => one.name === name)
  if (command !== undefined) return run(command, rest, io)
  if (name === '--version' || name === '-v') return print(io, `sidegate ${VERSION}\n`)
  if (name === '--help' || name === '-h' || name === 'help') return print(io, overview(commands))
  if (name !== undefined) {
    const close = suggestion(
      name,
      commands.map((one) => one.name),
    )
    writeLine(io.err, `sidegate: there is no command "${visibleLine(name)}"${close || '; these exist:'}\n`)
  }
  io.err.write(overview(commands))
  return 2
}

async function run(command: Command, args: readonly string[], io: CommandIo): Promise<ExitCode> {
  if (asksForHelp(args)) return print(io, command.helpFor?.(args) ?? command.help)
  try {
    return await command.run(args, io)
  } catch (error) {
    const badArguments = isUsageError(error) || isParseArgsError(error)
    writeLine(io.err, `sidegate ${command.name}: ${messageOf(error)}`)
    if (badArguments) writeLine(io.err, `sidegate ${command.name} --help lists the arguments`)
    return badArguments ? 2 : 1
  }
}

/** The message of an error, and of its cause: the user of a command may read both. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? `${error.message} ${error.cause.message}` : error.message
}

const asksForHelp = (args: readonly string[]): boolean => args.includes('--help') || args.includes('-h')

/** By its name: the program of a hub has a class of its own. */
const isUsageError = (error: unknown): boolean => error instanceof Error && error.name === 'UsageError'

const isParseArgsError = (error: unknown): boolean =>
  error instanceof TypeError && String((error as NodeJS.ErrnoException).code).startsWith('ERR_PARSE_ARGS')

function print(io: CommandIo, text: string): ExitCode {
  io.out.write(text)
  return 0
}
