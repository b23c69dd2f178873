// `sidegate audit`: verifies, exports and compacts the usage log, and erases exchanges.

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
import { isAuditChild, runInAuditChild } from './audit-child.ts'
import { compact } from './audit-compact.ts'
import { erase, readSelection } from './audit-erase.ts'
import { describeOmissions, exportLog } from './audit-export.ts'
import { readKeys, readNotes, Spool } from './audit-input.ts'
import { beginNewLog } from './audit-new-log.ts'
import { rebuildRollups } from './audit-rollup.ts'
import { keepResult, progressBar, verdictText } from './audit-verify.ts'
import { type Command, DEFAULT_CONFIG, type ExitCode, printProblems, UsageError } from './command.ts'

const HELP = `Usage: sidegate audit verify [--config FILE | --export FILE] [--checkpoint FILE]...
                             [--public-key FILE]... [--partial]
                             [--format pretty|json]
       sidegate audit export [--config FILE] [--since TIME] [--until TIME]
                             [--exchanges]
       sidegate audit erase [--config FILE] --request ID | --key ID |
                             --user VALUE | --before TIME
       sidegate audit rollup --rebuild [--config FILE]
       sidegate audit compact [--config FILE] --to FOLDER
       sidegate audit new-log [--config FILE]

Works on the usage log of a running or stopped gateway on this machine; verify also on
an export.

verify checks every entry, the hash chain and the Merkle tree, and compares them with
the checkpoints stored with the log and those kept elsewhere. It reports the first
sequence number that was changed, and the entries that no checkpoint covers. The log
must begin at its genesis entry, or where a sealed prune entry says.

  --export FILE       check an export and the exchanges in it; - is standard input
  --checkpoint FILE   a checkpoint kept elsewhere: the signed note, or JSON (also one
                      object a line) with the note as "checkpoint"; may be repeated
  --public-key FILE   trusted keys: PEM or signed-note verifier keys, one or more; may
                      be repeated. Every checkpoint must be signed by one of them, and
                      by the key that the boot entries of the log name. After a change
                      of audit.signingKey give the old key and the new one
  --partial           accept an export that begins later, as after export --since; the
                      verdict is then PASS (partial): nothing shows that the entries
                      before it are unchanged, or that there are none
  --format FORMAT     pretty or json; default: pretty on a terminal, json in a pipe

export writes JSON Lines to standard output: the entries in order, then the
checkpoints over them.

  --since TIME        begin with the first entry sealed at or after TIME (RFC 3339, or
                      a date: 2026-03-01)
  --until TIME        end before the first entry sealed after TIME, or after that date
  --exchanges         after the entry of a call, its request and response if they are
                      still stored: for sidegate diff --replay and for verification
                      elsewhere. The file holds what people wrote to models, redacted
                      by the rules in force then. Protect it like the data directory,
                      and erase in it what you erase there

erase removes captured exchanges and seals their number. The entries stay, and the log
still verifies. Erased exchanges cannot be restored.

  --request ID        the exchange of one call
  --key ID            those of all calls with an API key
  --user VALUE        those of all calls for an end user, as the client names the user, and
                      with them who it was
  --before TIME       those of all calls that arrived before TIME

rollup counts the calls of the log into the sums of usage again, as sidegate usage shows
them, also while a gateway runs. Hours of which the log has only a part keep their sums.
Calls whose end user was erased count under the user "erased".

  --rebuild           required: nothing else can be done with the sums

compact copies the data directory without the free pages of its file, which may hold
bytes of erased exchanges until they are overwritten.

  --to FOLDER         new or empty, on the same file system as data.path. Stop the
                      gateway before you replace data.path with it: the copy does not
                      have entries written since. It continues the log, so use it once,
                      and move it; a copy of it begins a new log

new-log ends the log of a stopped gateway and begins another, whose first entry names
it. The old log stays in predecessor-<time>/ in the data directory and still verifies.
API keys and rules made through the API are carried over. A gateway does the same when
it finds that its data directory is a copy. Use new-log where it cannot find that: after
a snapshot of the whole disk was restored or cloned, after a backup was written over
the files in place, and on file systems without birth times.

  --config FILE       configuration (default ${DEFAULT_CONFIG})
  --help              print this text

Exit: 0 intact or done; 1 findings, no such call, an exchange left out of an export, an
entry pruned before it was written, or an output that cannot be written; 2 could not run.
`

const OPTIONS = {
  config: { type: 'string' },
  export: { type: 'string' },
  checkpoint: { type: 'string', multiple: true },
  'public-key': { type: 'string', multiple: true },
  partial: { type: 'boolean' },
  format: { type: 'string' },
  since: { type: 'string' },
  until: { type: 'string' },
  exchanges: { type: 'boolean' },
  request: { type: 'string' },
  key: { type: 'string' },
  user: { type: 'string' },
  before: { type: 'string' },
  to: { type: 'string' },
  rebuild: { type: 'boolean' },
} as const

/** Options that only one action takes. */
const CHECKS = ['export', 'checkpoint', 'public-key', 'partial', 'format'] as const
const EXPORTS = ['since', 'until', 'exchanges'] as const
const SELECTIONS = ['request', 'key', 'user', 'before'] as const
const OTHERS = ['to', 'rebuild'] as const

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
    if (extra !== undefined) throw new UsageError(`unexpected argument ${extra}; give one action`)
    try {
      if (action === 'verify') return await runVerify(values)
      if (action === 'export') return await runExport(values)
      if (action === 'erase') return await runErase(values)
      if (action === 'rollup') return await runRollup(values)
      if (action === 'compact') return await runCompact(values)
      if (action === 'new-log') return await runNewLog(values)
    } catch (error) {
      if (!(error instanceof SourceError || error instanceof StoreOpenError)) throw error
      console.error(`sidegate audit: ${error.message}`)
      return 2
    }
    throw new UsageError('give an action: verify, export, erase, rollup, compact or new-log')
  },
}

async function runVerify(values: Values): Promise<ExitCode> {
  refuseOptions(values, [...EXPORTS, ...OTHERS, ...SELECTIONS], 'verify')
  if (values.export !== undefined && values.config !== undefined) {
    throw new UsageError('give either --config or --export, not both')
  }
  if (values.partial === true && values.export === undefined) {
    throw new UsageError('--partial goes with --export: a data directory holds a whole log')
  }
  const format = values.format ?? (process.stdout.isTTY ? 'pretty' : 'json')
  if (format !== 'pretty' && format !== 'json') throw new UsageError('--format takes pretty or json')
  const keys = (values['public-key'] ?? []).flatMap(readKeys)
  const notes = (source: string) => readNotes(source).map((note) => ({ note, source }))
  const evidence: AuditorEvidence = { keys, checkpoints: (values.checkpoint ?? []).flatMap(notes) }
  const report = (verdict: LogVerdict, path: string | null): ExitCode => {
    if (path !== null) keepResult(path, verdict)
    console.log(format === 'json' ? JSON.stringify(verdictObject(verdict)) : verdictText(verdict))
    return verdict.ok ? 0 : 1
  }
  if (values.export === undefined && !isAuditChild()) {
    const ended = await runInAuditChild()
    if (typeof ended === 'number') return ended
    const path = configOf(values)?.data.path ?? null
    return report(unreadableVerdict(evidence, describeDamage(ended.damage)), path)
  }
  const spool = values.export === '-' ? await Spool.read(process.stdin) : null
  try {
    const source = sourceOf(values, spool)
    if (source === null) return 2
    const bar = progressBar(process.stderr)
    const verdict = await openAndVerify(source.open, evidence, bar)
    bar(1)
    return report(verdict, source.path)
  } finally {
    spool?.remove()
  }
}

async function runExport(values: Values): Promise<ExitCode> {
  refuseOptions(values, [...CHECKS, ...SELECTIONS, ...OTHERS], 'export')
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
    for (const sentence of describeOmissions(omissions)) console.error(`sidegate audit: ${sentence}`)
    return omissions.exchanges === 0 && omissions.prunedSeq === null ? 0 : 1
  } finally {
    await environment.close()
  }
}

interface VerifiedSource {
  /** The data directory; null for an export. */
  readonly path: string | null
  readonly open: () => LogSource
}

/** Returns what opens the log to check; null when the configuration cannot be read. */
function sourceOf(values: Values, spool: Spool | null): VerifiedSource | null {
  const { export: file } = values
  if (file !== undefined) {
    return { path: null, open: () => new ExportSource(spool?.file ?? file, values.partial === true) }
  }
  const path = configOf(values)?.data.path
  return path === undefined ? null : { path, open: () => new DirectorySource(path) }
}

async function runErase(values: Values): Promise<ExitCode> {
  refuseOptions(values, [...CHECKS, ...EXPORTS, ...OTHERS], 'erase')
  const { request, key, user, before } = values
  const selection = readSelection(request, key, user, readTime('before', before))
  const config = configOf(values)
  return config === null ? 2 : erase(config, selection)
}

async function runRollup(values: Values): Promise<ExitCode> {
  refuseOptions(values, [...CHECKS, ...EXPORTS, ...SELECTIONS, 'to'], 'rollup')
  if (values.rebuild !== true) throw new UsageError('rollup needs --rebuild')
  const config = configOf(values)
  return config === null ? 2 : rebuildRollups(config)
}

async function runCompact(values: Values): Promise<ExitCode> {
  refuseOptions(values, [...CHECKS, ...EXPORTS, ...SELECTIONS, 'rebuild'], 'compact')
  if (values.to === undefined) throw new UsageError('compact needs --to FOLDER')
  const config = configOf(values)
  return config === null ? 2 : compact(config.data.path, values.to)
}

async function runNewLog(values: Values): Promise<ExitCode> {
  refuseOptions(values, [...CHECKS, ...EXPORTS, ...SELECTIONS, ...OTHERS], 'new-log')
  const config = configOf(values)
  return config === null ? 2 : beginNewLog(config.data.path)
}

function configOf({ config: file }: Values): Config | null {
  // The command does not need the gateway's secrets, so missing ones are ignored.
  const { config, problems } = readConfig(file ?? DEFAULT_CONFIG, process.env, systemClock)
  if (config === null) printProblems(problems, 'fix the configuration: it names the data directory')
  return config
}

function refuseOptions(values: Values, names: readonly (keyof Values)[], action: string): void {
  const given = names.find((name) => values[name] !== undefined)
  if (given !== undefined) throw new UsageError(`${action} takes no --${given}`)
}

function readTime(name: string, text: string | undefined, parse = parseTime): number | null {
  if (text === undefined) return null
  const timeMs = parse(text)
  if (timeMs === null) throw new UsageError(`--${name} takes a time like 2026-03-01T12:00:00Z or a day`)
  return timeMs
}
