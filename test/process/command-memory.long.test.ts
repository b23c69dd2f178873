// Memory of the commands beside a gateway, with the options that they get in a container that leaves
// them 48 MiB, on a log of 50,000 calls.

import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { COMMAND_BYTES, COMMAND_OPTIONS } from '../../src/cli/command-memory.ts'
import { fillLog } from '../bench/filled.ts'
import { ADMIN_TOKEN, UPSTREAM_KEY, writeDeployment } from './gateway.ts'
import { openProgram } from './gateway-process.ts'
import { PROGRAM, programArgs } from './program.ts'

t.setTimeout(300_000)

const MIB = 1024 ** 2
const ENTRIES = 50_000
/** Memory of the process besides its heap, as in command-memory.ts. */
const OTHER_MIB = 26

const COMMANDS: readonly (readonly string[])[] = [
  ['keys', 'list'],
  ['keys', 'create', '--name', 'made'],
  ['usage', '--since', '2026-01-01', '--by', 'key,model,day'],
  ['audit', 'export'],
  ['audit', 'verify'],
  ['audit', 'erase', '--key', 'key-1'],
  ['audit', 'trust-clock'],
]

/** A file of /proc; '' once its process has ended. */
function readProc(path: string): string {
  try {
    return readFileSync(join('/proc', path), 'utf8')
  } catch {
    return ''
  }
}

const anonymousBytes = (pid: string): number =>
  Number(/^RssAnon:\s+(\d+) kB/m.exec(readProc(`${pid}/status`))?.[1] ?? 0) * 1024

/** Runs a command; returns its exit code and the largest anonymous memory that it was seen with, bytes. */
async function peakOf(args: readonly string[]): Promise<{ code: number | null; bytes: number }> {
  const [, node = '', ...line] = programArgs(args)
  // The last of equal options counts.
  const program = line.indexOf(PROGRAM)
  const heap = `--max-old-space-size=${COMMAND_BYTES / MIB - OTHER_MIB}`
  // A process that writes its compiled code takes memory for it.
  const env = { ...process.env, NODE_OPTIONS: '', NODE_DISABLE_COMPILE_CACHE: '1', ADMIN_TOKEN, UPSTREAM_KEY }
  const child = spawn(node, [...line.slice(0, program), ...COMMAND_OPTIONS, heap, ...line.slice(program)], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  let bytes = 0
  while (child.exitCode === null && child.signalCode === null) {
    const children = readProc(`${child.pid}/task/${child.pid}/children`).split(' ')
    const sizes = [String(child.pid), ...children].map(anonymousBytes)
    bytes = Math.max(
      bytes,
      sizes.reduce((sum, size) => sum + size, 0),
    )
    await delay(2)
  }
  return { code: await ended, bytes }
}

t.test(
  'commands keep to 48 MiB for each of their processes',
  { skip: existsSync('/proc/self/status') ? false : 'NOT TESTED: needs /proc of Linux' },
  async (t) => {
    const { folder, file } = writeDeployment({ upstreamUrl: 'http://127.0.0.1:9/v1' })
    await fillLog(join(folder, 'data'), ENTRIES)
    await openProgram(t, { upstreamUrl: 'http://127.0.0.1:9/v1', folder })
    for (const args of COMMANDS) {
      const { code, bytes } = await peakOf([...args, '--config', file])
      t.equal(code, 0, args.join(' '))
      // A damaged log can kill the process that reads it, so another one waits for it.
      const processes = args.includes('verify') ? 2 : 1
      t.ok(
        bytes > 0 && bytes <= processes * COMMAND_BYTES,
        `${args.join(' ')}: ${Math.ceil(bytes / MIB)} MiB`,
      )
    }
  },
)
