// `sidegate audit`: proves what the usage log says, and takes it out of the machine it was written on.

import { parseArgs } from 'node:util'
import type { LogVerdict } from '../audit/log-verify.ts'
import type { AuditorEvidence } from '../audit/survey.ts'
import { verdictObject } from '../audit/verdict.ts'
import { systemClock } from '../core/clock.ts'
import { type Config, readConfig } from '../core/config.ts'
import { parseEndTime, parseTime } from '../core/time.ts'
import { describeDamage } from '../store/damage.ts'
import { StoreOpenError } from '../store/lmdb.ts'
import { DirectorySource } from '../store/verification/directory.ts'
import { ExportSource } from '../store/verification/exportfile.ts'
import { type LogSource, openDirectory, SourceError } from '../store/verification/log-source.ts'
import { openAndVerify, unreadableVerdict } from '../store/verification/verification.ts'
import { isReader, runAsReader } from './audit-child.ts'
import { compact } from './audit-compact.ts'
import { erase, readSelection } from './audit-erase.ts'
import { describeOmissions, exportLog } from './audit-export.ts'
import { readKeys, readNotes, Spool } from './audit-input.ts'
import { progressBar, verdictText } from './audit-verify.ts'
import { type Command, DEFAULT_CONFIG, type ExitCode, printProblems, UsageError } from './command.ts'

const HELP = `Usage: sidegate audit verify [--config FILE | --export FILE] [--checkpoint FILE]...
                             [--public-key FILE]... [--format pretty|json]
       sidegate audit export [--config FILE] [--since TIME] [--until TIME]
                             [--exchanges]
       sidegate audit erase [--config FILE] --request ID | --key ID | --before TIME
       sidegate audit compact [--config FILE] --to FOLDER

The usage log of a running or stopped gateway on this machine, or an export of it.

verify checks every entry, the chain and the Merkle tree, and holds both against the
checkpoints that came with the log and those that were kept elsewhere. It names the
first sequence number that is not as it was sealed, and what nobody signed for.

  --export FILE       check an export, and the exchanges that are in it; - reads it
                      from standard input
  --checkpoint FILE   a checkpoint kept elsewhere: the signed note, or JSON (also a
                      line each) with the note as "checkpoint"; may be repeated
  --public-key FILE   whose signatures count: PEM, or signed-note verifier keys, one or
                      several of them; may be repeated. Every checkpoint must be
                      signed by one of them, and by the one that the log's own boot
                      entries name: after a change of audit.signingKey give the old
                      key and the new one
  --format FORMAT     pretty on a terminal, json in a pipe, unless given

export writes JSON Lines to standard output: the entries in order, then the
checkpoints over them.

  --since TIME        begin with the first entry sealed at or after it (RFC 3339, or
                      a day: 2026-03-01)
  --until TIME        end before the first entry sealed after it, or after that day
  --exchanges         after each call's entry what was asked and answered, as far as
                      it is still stored: for sidegate diff --replay, and to check it
                      elsewhere. Such a file holds what people wrote to models,
                      redacted only as the rules of the time said: keep it as you
                      keep the data directory, and erase it where you erase there

erase removes captured exchanges and seals how many; the entries stay, and the log
verifies as before. What is gone cannot be brought back.

  --request ID        of one call
  --key ID            of all calls of an API key
  --before TIME       of all calls that arrived before it

compact copies the data directory without the free pages of its file, in which bytes
of what was erased can be read until they are written over.

  --to FOLDER         new or empty; put it in place of data.path once the gateway is
                      stopped: what it writes in between is not in the copy

  --config FILE       configuration (default ${DEFAULT_CONFIG})
  --help              this text

Exit: 0 intact or done, 1 findings, no such call, an exchange that cannot be exported,
an entry pruned before it could be, or an output that takes no more, 2 could not run.
`

const OPTIONS = {
  config: { type: 'string' },
  export: { type: 'string' },
  checkpoint: { type: 'string', multiple: true },
  'public-key': { type: 'string', multiple: true },
  format: { type: 'string' },
  since: { type: 'string' },
  until: { type: 'string' },
  exchanges: { type: 'boolean' },
  request: { type: 'string' },
  key: { type: 'string' },
  before: { type: 'string' },
  to: { type: 'string' },
} as const

/** Options of one action that the others do not take. */
const CHECKS = ['export', 'checkpoint', 'public-key', 'format'] as const
const EXPORTS = ['since', 'until', 'exchanges'] as const
const SELECTIONS = ['request', 'key', 'before'] as const

const parse = (args: readonly string[]) =>
  parseArgs({ args: [...args], allowPositionals: true, options: OPTIONS })
type Values = ReturnType<typeof parse>['values']

export const audit: Command = {
  name: 'audit',
  summary: 'verify, export and compact the usage log, erase exchanges',
  help: HELP,
  async run(args): Promise<ExitCode> {
    const { values, positionals } = parse(args)
    const [action, extra] = positionals
    if (extra !== undefined) throw new UsageError(`unexpected argument ${extra}`)
    try {
      if (action === 'verify') return await verify(values)
      if (action === 'export') return await write(values)
      if (action === 'erase') return await remove(values)
      if (action === 'compact') return await copy(values)
    } catch (error) {
      if (!(error instanceof SourceError || error instanceof StoreOpenError)) throw error
      console.error(`sidegate audit: ${error.message}`)
      return 2
    }
    throw new UsageError('say verify, export, erase or compact')
  },
}

async function verify(values: Values): Promise<ExitCode> {
  refuse(values, [...EXPORTS, 'to', ...SELECTIONS], 'verify')
  if (values.export !== undefined && values.config !== undefined) {
    throw new UsageError('--config and --export exclude each other')
  }
  const format = values.format ?? (process.stdout.isTTY ? 'pretty' : 'json')
  if (format !== 'pretty' && format !== 'json') throw new UsageError('--format is pretty or json')
  const keys = (values['public-key'] ?? []).flatMap(readKeys)
  const notes = (source: string) => readNotes(source).map((note) => ({ note, source }))
  const evidence: AuditorEvidence = { keys, checkpoints: (values.checkpoint ?? []).flatMap(notes) }
  const report = (verdict: LogVerdict): ExitCode => {
    console.log(format === 'json' ? JSON.stringify(verdictObject(verdict)) : verdictText(verdict))
    return verdict.ok ? 0 : 1
  }
  if (values.export === undefined && !isReader()) {
    const ended = await runAsReader()
    return typeof ended === 'number'
      ? ended
      : report(unreadableVerdict(evidence, describeDamage(ended.damage)))
  }
  const spool = values.export === '-' ? await Spool.read(process.stdin) : null
  try {
    const open = sourceOf(values, spool)
    if (open === null) return 2
    const bar = progressBar(process.stderr)
    const verdict = await openAndVerify(open, evidence, bar)
    bar(1)
    return report(verdict)
  } finally {
    spool?.remove()
  }
}

async function write(values: Values): Promise<ExitCode> {
  refuse(values, [...CHECKS, ...SELECTIONS, 'to'], 'export')
  const options = {
    sinceMs: readTime('since', values.since),
    untilMs: readTime('until', values.until, parseEndTime),
    exchanges: values.exchanges === true,
  }
  const path = configOf(values)?.data.path
  if (path === undefined) return 2
  const environment = openDirectory(path)
  try {
    const omissions = await exportLog(environment, options, process.stdout)
    for (const said of describeOmissions(omissions)) console.error(`sidegate audit: ${said}`)
    return omissions.exchanges === 0 && omissions.prunedSeq === null ? 0 : 1
  } finally {
    await environment.close()
  }
}

/** Opens what is to be checked; null when it is not known. */
function sourceOf(values: Values, spool: Spool | null): (() => LogSource) | null {
  const { export: file } = values
  if (file !== undefined) return () => new ExportSource(spool?.file ?? file)
  const path = configOf(values)?.data.path
  return path === undefined ? null : () => new DirectorySource(path)
}

async function remove(values: Values): Promise<ExitCode> {
  refuse(values, [...CHECKS, ...EXPORTS, 'to'], 'erase')
  const selection = readSelection(values.request, values.key, readTime('before', values.before))
  const config = configOf(values)
  return config === null ? 2 : erase(config, selection)
}

async function copy(values: Values): Promise<ExitCode> {
  refuse(values, [...CHECKS, ...EXPORTS, ...SELECTIONS], 'compact')
  if (values.to === undefined) throw new UsageError('compact needs --to FOLDER')
  const config = configOf(values)
  return config === null ? 2 : compact(config.data.path, values.to)
}

function configOf({ config: file }: Values): Config | null {
  // Secrets of the gateway are not needed here, so that they are missing does not matter.
  const { config, problems } = readConfig(file ?? DEFAULT_CONFIG, process.env, systemClock)
  if (config === null) printProblems(problems, 'the data directory is not known')
  return config
}

function refuse(values: Values, names: readonly (keyof Values)[], action: string): void {
  const given = names.find((name) => values[name] !== undefined)
  if (given !== undefined) throw new UsageError(`${action} takes no --${given}`)
}

function readTime(name: string, text: string | undefined, parse = parseTime): number | null {
  if (text === undefined) return null
  const timeMs = parse(text)
  if (timeMs === null) throw new UsageError(`--${name} takes a time like 2026-03-01T12:00:00Z or a day`)
  return timeMs
}
