// `sidegate audit`: verifies, exports and compacts the usage log, and erases exchanges.

import type { LogVerdict } from '../audit/log-verify.ts'
import type { AuditorEvidence } from '../audit/survey.ts'
import { verdictObject } from '../audit/verdict.ts'
import { systemClock } from '../core/clock.ts'
import { type Config, readConfig } from '../core/config.ts'
import { isHubConfig } from '../core/hub-config.ts'
import { isoTime, parseEndTime, parseTime } from '../core/time.ts'
import { describeDamage } from '../store/environment/damage.ts'
import { StoreOpenError } from '../store/environment/lmdb.ts'
import { isTooFarAhead } from '../store/log/erase.ts'
import { DirectorySource } from '../store/verification/directory.ts'
import { ExportSource } from '../store/verification/exportfile.ts'
import { type LogSource, openDirectory, SourceError } from '../store/verification/log-source.ts'
import { openAndVerify, unreadableVerdict } from '../store/verification/verification.ts'
import { beginNewLog, compact, erase, readSelection, rebuildRollups, sealClockTrust } from './audit-change.ts'
import { isAuditChild, runInAuditChild } from './audit-child.ts'
import { describeOmissions, exportLog, printPublicKey } from './audit-export.ts'
import { rebuildOfHub, verifyFleet } from './audit-fleet.ts'
import { AUDIT_ACTIONS, AUDIT_HELP, helpOfAction } from './audit-help.ts'
import {
  keepResult,
  progressBar,
  readKeys,
  readNotes,
  Spool,
  verdictText,
  verifyReceiptFile,
} from './audit-verify.ts'
import {
  type Command,
  type CommandIo,
  defaultConfig,
  type ExitCode,
  noAction,
  parseArguments,
  printProblems,
  UsageError,
  writeLine,
} from './command.ts'
import { COMMAND_BYTES, memoryFault } from './command-memory.ts'
import type { HubProgram } from './hub.ts'

const OPTIONS = {
  config: { type: 'string', takes: 'path' },
  export: { type: 'string', takes: 'path' },
  receipt: { type: 'string', takes: 'path' },
  checkpoint: { type: 'string', multiple: true, takes: 'path' },
  'public-key': { type: 'string', multiple: true, takes: 'path' },
  partial: { type: 'boolean' },
  fleet: { type: 'boolean' },
  'database-file': { type: 'string', takes: 'path' },
  format: { type: 'string', takes: ['pretty', 'json'] },
  since: { type: 'string' },
  until: { type: 'string' },
  exchanges: { type: 'boolean' },
  request: { type: 'string' },
  key: { type: 'string' },
  user: { type: 'string' },
  before: { type: 'string' },
  to: { type: 'string', takes: 'path' },
  rebuild: { type: 'boolean' },
} as const

/** Options that only one action takes. */
const LOG_CHECKS = ['export', 'checkpoint', 'partial', 'fleet', 'database-file'] as const
const CHECKS = [...LOG_CHECKS, 'receipt', 'public-key', 'format'] as const
const EXPORTS = ['since', 'until', 'exchanges'] as const
const SELECTIONS = ['request', 'key', 'user', 'before'] as const
const OTHERS = ['to', 'rebuild'] as const

const parse = (args: readonly string[]) => parseArguments(args, OPTIONS)
type Values = ReturnType<typeof parse>['values']

/** @param loadHub loads the program of a hub, which reads its database */
export const audit = (loadHub: () => Promise<HubProgram>): Command => ({
  name: 'audit',
  summary: 'verify, export and compact the usage log, erase exchanges',
  options: OPTIONS,
  argument: AUDIT_ACTIONS,
  help: AUDIT_HELP,
  helpFor: helpOfAction,
  async run(args, io): Promise<ExitCode> {
    const { values, positionals } = parse(args)
    const [action, extra] = positionals
    if (extra !== undefined) throw new UsageError(`unexpected argument ${extra}; give one action`)
    try {
      if (action === 'verify') return await runVerify(values, io, loadHub)
      if (action === 'public-key') return runPublicKey(values, io)
      if (action === 'export') return await runExport(values, io)
      if (action === 'erase') return await runErase(values, io)
      if (action === 'rollup') return await runRollup(values, io, loadHub)
      if (action === 'trust-clock') return await runTrustClock(values, io)
      if (action === 'compact') return await runCompact(values, io)
      if (action === 'new-log') return await runNewLog(values, io)
    } catch (error) {
      if (!(error instanceof SourceError || error instanceof StoreOpenError)) throw error
      writeLine(io.err, `sidegate audit: ${error.message}`)
      return 2
    }
    throw noAction(action, AUDIT_ACTIONS)
  },
})

async function runVerify(
  values: Values,
  io: CommandIo,
  loadHub: () => Promise<HubProgram>,
): Promise<ExitCode> {
  refuseOptions(values, [...EXPORTS, ...OTHERS, ...SELECTIONS], 'verify')
  if (values.export !== undefined && values.config !== undefined) {
    throw new UsageError('give either --config or --export, not both')
  }
  if (values.partial === true && values.export === undefined) {
    throw new UsageError('--partial goes with --export: a data directory holds a whole log')
  }
  const format = values.format ?? (io.out.isTTY ? 'pretty' : 'json')
  if (format !== 'pretty' && format !== 'json') throw new UsageError('--format takes pretty or json')
  const keys = (values['public-key'] ?? []).flatMap(readKeys)
  if (values.receipt !== undefined) {
    refuseOptions(values, [...LOG_CHECKS, 'config'], 'verify --receipt')
    if (keys.length === 0)
      throw new UsageError('--receipt needs --public-key: anyone can sign with another key')
    return verifyReceiptFile(values.receipt, keys, format, io)
  }
  const notes = (source: string) => readNotes(source).map((note) => ({ note, source }))
  const evidence: AuditorEvidence = { keys, checkpoints: (values.checkpoint ?? []).flatMap(notes) }
  const { 'database-file': databaseFile } = values
  if (values.fleet === true) {
    refuseOptions(values, ['export', 'partial', 'config'], 'verify --fleet')
    return verifyFleet(await loadHub(), { databaseFile, evidence, format }, io)
  }
  if (databaseFile !== undefined) throw new UsageError('--database-file goes with --fleet')
  const report = (verdict: LogVerdict, path: string | null): ExitCode => {
    if (path !== null) keepResult(path, verdict)
    writeLine(io.out, format === 'json' ? JSON.stringify(verdictObject(verdict)) : verdictText(verdict))
    return verdict.ok ? 0 : 1
  }
  if (values.export === undefined && !isAuditChild(io)) {
    const fault = memoryFault(2 * COMMAND_BYTES)
    if (fault !== null) throw new SourceError(fault)
    const ended = await runInAuditChild(io)
    if (typeof ended === 'number') return ended
    const path = configOf(values, io)?.data.path ?? null
    return report(unreadableVerdict(evidence, describeDamage(ended.damage)), path)
  }
  const spool = values.export === '-' ? await Spool.read(process.stdin) : null
  try {
    const source = sourceOf(values, spool, io)
    if (source === null) return 2
    const bar = progressBar(io.err)
    const verdict = await openAndVerify(source.open, evidence, bar)
    bar(1)
    return report(verdict, source.path)
  } finally {
    spool?.remove()
  }
}

function runPublicKey(values: Values, io: CommandIo): ExitCode {
  refuseOptions(values, [...CHECKS, ...EXPORTS, ...SELECTIONS, ...OTHERS], 'public-key')
  return printPublicKey(values.config ?? defaultConfig(), io)
}

async function runExport(values: Values, io: CommandIo): Promise<ExitCode> {
  refuseOptions(values, [...CHECKS, ...SELECTIONS, ...OTHERS], 'export')
  const options = {
    sinceMs: readTime('since', values.since),
    untilMs: readTime('until', values.until, parseEndTime),
    exchanges: values.exchanges === true,
  }
  const path = configOf(values, io)?.data.path
  if (path === undefined) return 2
  const environment = openDirectory(path)
  try {
    const omissions = await exportLog(environment, options, io.out)
    for (const sentence of describeOmissions(omissions)) writeLine(io.err, `sidegate audit: ${sentence}`)
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
function sourceOf(values: Values, spool: Spool | null, io: CommandIo): VerifiedSource | null {
  const { export: file } = values
  if (file !== undefined) {
    return { path: null, open: () => new ExportSource(spool?.file ?? file, values.partial === true) }
  }
  const path = configOf(values, io)?.data.path
  return path === undefined ? null : { path, open: () => new DirectorySource(path) }
}

async function runErase(values: Values, io: CommandIo): Promise<ExitCode> {
  refuseOptions(values, [...CHECKS, ...EXPORTS, ...OTHERS], 'erase')
  const { request, key, user, before } = values
  const selection = readSelection(request, key, user, readBefore(before, systemClock.now()))
  const config = configOf(values, io)
  return config === null ? 2 : erase(config, selection, io)
}

async function runRollup(
  values: Values,
  io: CommandIo,
  loadHub: () => Promise<HubProgram>,
): Promise<ExitCode> {
  refuseOptions(values, [...CHECKS, ...EXPORTS, ...SELECTIONS, 'to'], 'rollup')
  if (values.rebuild !== true) throw new UsageError('rollup needs --rebuild')
  const file = values.config ?? defaultConfig()
  if (isHubConfig(file)) return rebuildOfHub(await loadHub(), file, io)
  const config = configOf(values, io)
  return config === null ? 2 : rebuildRollups(config, io)
}

async function runTrustClock(values: Values, io: CommandIo): Promise<ExitCode> {
  refuseOptions(values, [...CHECKS, ...EXPORTS, ...SELECTIONS, ...OTHERS], 'trust-clock')
  const config = configOf(values, io)
  return config === null ? 2 : sealClockTrust(config, io)
}

async function runCompact(values: Values, io: CommandIo): Promise<ExitCode> {
  refuseOptions(values, [...CHECKS, ...EXPORTS, ...SELECTIONS, 'rebuild'], 'compact')
  if (values.to === undefined) throw new UsageError('compact needs --to FOLDER')
  const config = configOf(values, io)
  return config === null ? 2 : compact(config.data.path, values.to, io)
}

async function runNewLog(values: Values, io: CommandIo): Promise<ExitCode> {
  refuseOptions(values, [...CHECKS, ...EXPORTS, ...SELECTIONS, ...OTHERS], 'new-log')
  const config = configOf(values, io)
  return config === null ? 2 : beginNewLog(config.data.path, io)
}

function readBefore(text: string | undefined, nowMs: number): number | null {
  const beforeMs = readTime('before', text)
  if (beforeMs !== null && isTooFarAhead(beforeMs, nowMs))
    throw new UsageError(
      `--before is ${isoTime(beforeMs)}, more than a day from now, and would erase everything; check the year, or give ${isoTime(nowMs)} if you mean all calls so far`,
    )
  return beforeMs
}

function configOf({ config: file }: Values, io: CommandIo): Config | null {
  // The command does not need the gateway's secrets, so missing ones are ignored.
  const { config, problems } = readConfig(file ?? defaultConfig(), io.env, systemClock)
  if (config === null) printProblems(io, problems, 'fix the configuration: it names the data directory')
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
