// Runs the command of a command line. Answers --help and --version; turns bad arguments into exit
// code 2 and output that could not be written into exit code 1.

import { VERSION } from '../core/version.ts'
import { type Command, type ExitCode, UsageError } from './command.ts'
import { Output } from './output.ts'
import { isPid1, runInChild } from './pid1.ts'
import { killOnUncaughtError } from './signals.ts'

const overview = (commands: readonly Command[]): string =>
  [
    'Usage: sidegate COMMAND [options]',
    '',
    'An LLM gateway sidecar: redacts personal data, enforces policy rules and keeps a',
    'tamper-evident usage log in front of any OpenAI-compatible API.',
    '',
    ...commands.map(({ name, summary }) => `  ${name.padEnd(8)}${summary}`),
    '',
    '  --help     print this text; `sidegate COMMAND --help` for a command',
    '  --version  print the version',
    '',
    'Exit: 0 success, 1 findings or failure, 2 could not run.',
    '',
  ].join('\n')

/** @param commands in the order of the overview */
export async function dispatch(args: readonly string[], commands: readonly Command[]): Promise<ExitCode> {
  const [name, ...rest] = args
  const command = commands.find((one) => one.name === name)
  if (command?.isService === true && !asksForHelp(rest)) {
    killOnUncaughtError()
    return run(command, rest)
  }
  if (command !== undefined && isPid1()) return runInChild()
  const output = new Output()
  const code = command === undefined ? answer(name, commands) : await run(command, rest)
  const fault = await output.end()
  if (fault === null) return code
  console.error(`sidegate${command === undefined ? '' : ` ${command.name}`}: ${fault}`)
  return code === 2 ? 2 : 1
}

/** Answers a command line without a known command. */
function answer(name: string | undefined, commands: readonly Command[]): ExitCode {
  if (name === '--version' || name === '-v') return print(`sidegate ${VERSION}\n`)
  if (name === '--help' || name === '-h' || name === 'help') return print(overview(commands))
  if (name !== undefined) console.error(`sidegate: there is no command "${name}"; these exist:\n`)
  process.stderr.write(overview(commands))
  return 2
}

async function run(command: Command, args: readonly string[]): Promise<ExitCode> {
  if (asksForHelp(args)) return print(command.help)
  try {
    return await command.run(args)
  } catch (error) {
    const badArguments = error instanceof UsageError || isParseArgsError(error)
    console.error(`sidegate ${command.name}: ${error instanceof Error ? error.message : String(error)}`)
    if (badArguments) console.error(`sidegate ${command.name} --help lists the arguments`)
    return badArguments ? 2 : 1
  }
}

const asksForHelp = (args: readonly string[]): boolean => args.includes('--help') || args.includes('-h')

const isParseArgsError = (error: unknown): boolean =>
  error instanceof TypeError && String((error as NodeJS.ErrnoException).code).startsWith('ERR_PARSE_ARGS')

function print(text: string): ExitCode {
  process.stdout.write(text)
  return 0
}
