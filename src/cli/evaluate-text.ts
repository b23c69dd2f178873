// `sidegate evaluate`: says what the rules in force do with a text. Forwards and logs nothing.

import type { Config } from '../core/config.ts'
import { GatewayError } from '../core/errors.ts'
import { visible } from '../core/hidden-characters.ts'
import { runCase } from '../rulecheck/run-case.ts'
import { ruleSetOf } from '../rules/rule-set.ts'
import { StoreOpenError } from '../store/environment/lmdb.ts'
import { PSEUDONYM_KEY_FILE, readOwnKey } from '../store/files/own-key.ts'
import {
  type Command,
  DEFAULT_CONFIG,
  defaultConfig,
  type ExitCode,
  parseArguments,
  printProblems,
  UsageError,
  writeLine,
} from './command.ts'
import { readLabelOption } from './label-option.ts'
import { rulesInForce } from './rules-in-force.ts'
import { benchOf, recognisersLeftOut, warnOfRecognisers } from './test.ts'
import { usableConfig } from './usable-config.ts'

const HELP = `Usage: sidegate evaluate TEXT [--model MODEL] [--key NAME] [--label NAME=VALUE]
       sidegate evaluate - [options] < FILE

Says what the rules in force do with a prompt: the decision, the rules that fire, and
the text as it would be forwarded. Forwards, counts and logs nothing. Limits and the
terms of keys are left out, and so are recognisers, which the command says. In a pipe
the output is JSON.

  --model MODEL       the requested model (default test-model)
  --key NAME          name of the API key that asks (default evaluate)
  --label NAME=VALUE  a label of the key; may be repeated
  --fail-on block     exit with 1 when the decision is block
  --json              JSON also on a terminal
  --config FILE       configuration (default ${DEFAULT_CONFIG})
  --help              print this text

Exit: 0 for any decision, 1 with --fail-on block, 2 could not run.
`

/** As the default of `limits.bodyBytes`. */
const MAXIMUM_INPUT_BYTES = 32 * 1024 * 1024

const OPTIONS = {
  config: { type: 'string', takes: 'path' },
  model: { type: 'string', default: 'test-model' },
  key: { type: 'string', default: 'evaluate' },
  label: { type: 'string', multiple: true },
  'fail-on': { type: 'string', takes: ['block'] },
  json: { type: 'boolean' },
} as const

export const evaluate: Command = {
  name: 'evaluate',
  summary: 'say what the rules do with a text, without forwarding it',
  options: OPTIONS,
  help: HELP,
  async run(args, io): Promise<ExitCode> {
    const { values, positionals } = parseArguments(args, OPTIONS)
    const [text, ...rest] = positionals
    if (text === undefined || rest.length > 0)
      throw new UsageError('give one text in quotes, or - for standard input')
    const failOn = values['fail-on']
    if (failOn !== undefined && failOn !== 'block') throw new UsageError('--fail-on takes block')
    try {
      const config = usableConfig(values.config ?? defaultConfig(), io)
      const { rules, problems } = await rulesInForce(config)
      if (problems.length > 0) {
        printProblems(io, problems, 'fix the rules first')
        return 2
      }
      const content = text === '-' ? await readInput() : text
      const outcome = await runCase(
        {
          api: 'chat',
          request: { model: values.model, messages: [{ role: 'user', content }] },
          key: { name: values.key, labels: readLabelOption(values.label ?? []) },
          answer: null,
        },
        ruleSetOf(rules),
        benchOf(config, pseudonymKeyOf(config)),
      )
      const { decision, refusedBy, rules: fired, findings, redacted } = outcome
      warnOfRecognisers(config, io)
      if (values.json === true || !io.out.isTTY) {
        const leftOut = recognisersLeftOut(config)
        writeLine(
          io.out,
          JSON.stringify({
            ...{ decision, refused_by: refusedBy, rules: fired, findings, redacted },
            ...(leftOut.length > 0 && { recognisers_left_out: leftOut }),
          }),
        )
      } else {
        writeLine(io.out, visible(`decision  ${decision}${refusedBy === null ? '' : ` by ${refusedBy}`}`))
        writeLine(io.out, visible(`rules     ${fired.join(', ') || 'none'}`))
        writeLine(io.out, visible(`forwarded ${decision === 'block' ? 'nothing' : redacted}`))
      }
      return failOn === 'block' && decision === 'block' ? 1 : 0
    } catch (error) {
      if (!(error instanceof StoreOpenError || error instanceof GatewayError)) throw error
      writeLine(io.err, `sidegate evaluate: ${error.message}`)
      return 2
    }
  },
}

/** The key of the gateway; undefined when it has made none yet. */
const pseudonymKeyOf = ({ pii, data }: Config): string | undefined =>
  pii.pseudonymKey?.current() ?? readOwnKey(data.path, PSEUDONYM_KEY_FILE)?.toString('hex')

async function readInput(): Promise<string> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of process.stdin as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > MAXIMUM_INPUT_BYTES)
      throw new UsageError(`the text is longer than ${MAXIMUM_INPUT_BYTES} bytes`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}
