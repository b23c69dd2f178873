// The child process that reads a data directory for `sidegate audit verify`.

import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { AUDIT_READER_VARIABLE } from '../../src/cli/audit-child.ts'
import { systemClock } from '../../src/core/clock.ts'
import { openStore } from '../../src/store/store.ts'
import { requestDraft } from '../audit/drafts.ts'
import { writeDeployment } from '../process/gateway.ts'
import { programArgs } from '../process/program.ts'
import { runProgram } from '../process/run-command.ts'
import { inTime, until } from '../process/until.ts'

/** Lets the command read the log in a child. */
const IN_CHILD = { [AUDIT_READER_VARIABLE]: undefined }

/** Writes a configuration and a log of some calls. */
async function deployLog(t: Test, calls: number) {
  const { folder, file } = writeDeployment({
    upstreamUrl: 'http://127.0.0.1:1/v1',
    folder: t.testdir(),
    rules: 'rules: []\n',
  })
  const path = join(folder, 'data')
  const store = openStore({ path, clock: systemClock, random: randomBytes, maxBytes: 1024 ** 3 })
  const appended = Array.from({ length: calls }, (_, index) =>
    store.log.append(requestDraft({ id: `call-${index}` }), { content: '{"request":{},"response":null}' }),
  )
  await Promise.all(appended)
  await store.close()
  return { file, database: join(path, 'data.mdb') }
}

/** Starts a check and stops its child (SIGSTOP), so that the check does not end. */
async function checking(t: Test) {
  const { file } = await deployLog(t, 0)
  const parent = spawn('env', programArgs(['audit', 'verify', '--config', file]))
  const output = { stdout: '', stderr: '' }
  parent.stdout.on('data', (data) => (output.stdout += data))
  parent.stderr.on('data', (data) => (output.stderr += data))
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) =>
    parent.once('close', (code, signal) => resolve(code ?? signal)),
  )
  const place = `/proc/${parent.pid}`
  const childOf = () => Number(readFileSync(join(place, `task/${parent.pid}/children`), 'utf8'))
  const isOwn = (pid: number) =>
    readFileSync(`/proc/${pid}/environ`, 'utf8').includes('SIDEGATE_AUDIT_READER')
  await until('the child runs', () => childOf() !== 0 && isOwn(childOf()))
  const child = childOf()
  // While Node starts in it: it reads an empty log in no time.
  process.kill(child, 'SIGSTOP')
  await until('the parent waits for it', () => /\) S /.test(readFileSync(join(place, 'stat'), 'utf8')))
  t.teardown(() => parent.kill('SIGKILL'))
  return { parent, child, output, ended }
}

const isLinux = process.platform === 'linux'

t.test('a killed child is reported and makes the exit code 2', { skip: !isLinux }, async (t) => {
  const { child, output, ended } = await checking(t)
  process.kill(child, 'SIGKILL')
  t.equal(await inTime('the command ends', ended), 2)
  t.strictSame(output, {
    stdout: '',
    stderr: 'sidegate audit: the process that reads the log was killed (SIGKILL)\n',
  })
})

t.test('a command that a signal ends leaves no child running', { skip: !isLinux }, async (t) => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    const { parent, child, output, ended } = await checking(t)
    parent.kill(signal)
    await until('the command ends', () => parent.exitCode !== null || parent.signalCode !== null)
    process.kill(child, 'SIGCONT')
    t.equal(await inTime('its output ends', ended), signal)
    await until('the child is gone', () => !existsSync(`/proc/${child}`))
    t.strictSame(output, { stdout: '', stderr: '' })
  }
})

t.test('a damaged database file is a finding and does not kill the command', async (t) => {
  const { file, database } = await deployLog(t, 400)
  truncateSync(database, 16_384)
  const { code, stdout } = await runProgram(['audit', 'verify', '--config', file], IN_CHILD)
  const verdict = JSON.parse(stdout)
  t.equal(code, 1)
  t.match(verdict, { ok: false, findings: [{ seq: null, reason: /^the database file is damaged: .*SIG/ }] })
})

t.test('there is a verdict for any damaged pages of the database', async (t) => {
  const { file, database } = await deployLog(t, 400)
  const sound = readFileSync(database)
  const page = 4096
  const reasons: string[] = []
  for (let at = page; at < sound.length && at < 40 * page; at += 4 * page) {
    const damaged = Buffer.from(sound)
    damaged.fill(0xab, at, at + 2 * page)
    writeFileSync(database, damaged)
    const { code, stdout, stderr } = await runProgram(['audit', 'verify', '--config', file], IN_CHILD)
    const verdict = JSON.parse(stdout || 'null')
    t.equal(code, verdict?.ok === true ? 0 : 1, `${at}: ${stderr}`)
    t.notMatch(stderr, 'sidegate')
    reasons.push(...(verdict?.findings ?? []).map(({ reason }: any) => reason))
  }
  t.match(reasons.join('\n'), /data\.mdb is damaged: its second page is missing/)
  t.match(reasons.join('\n'), /MDB_(?:CORRUPTED|PAGE_NOTFOUND)/)
})
