// Output that cannot be written: to a full disk, to a file of limited size, to a closed pipe.

import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { systemClock } from '../../src/core/clock.ts'
import { openStore } from '../../src/store/store.ts'
import { writeDeployment } from '../process/gateway.ts'
import { SIDEGATE } from '../process/program.ts'

const CASES = 'tests:\n  - { name: passes, text: hello, expect: { decision: allow } }\n'

async function deploy(folder: string) {
  const { file } = writeDeployment({ upstreamUrl: 'http://127.0.0.1:1/v1', folder, rules: 'rules: []\n' })
  const store = openStore({
    path: join(folder, 'data'),
    clock: systemClock,
    random: randomBytes,
    maxBytes: 1024 ** 3,
  })
  for (let index = 0; index < 40; index++) await store.keys.create(`key ${index}`, 'vera')
  await store.close()
  return file
}

/** Runs a line of shell in which `sidegate` is the program. */
const shell = (line: string): Promise<{ code: number; stderr: string }> =>
  new Promise((resolve) => {
    const script = `sidegate() { ${SIDEGATE} "$@"; }; ${line}`
    execFile('bash', ['-c', script], (error, _stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), stderr }),
    )
  })

t.test('a command whose output cannot be written reports it and exits with 1', async (t) => {
  const folder = t.testdir()
  const file = await deploy(folder)
  writeFileSync(join(folder, 'rules/some_test.yaml'), CASES)
  for (const [name, args] of [
    ['audit', `audit export --config ${file}`],
    ['audit', `audit verify --config ${file}`],
    ['keys', `keys list --config ${file}`],
    ['check', `check ${folder}/rules`],
    ['test', `test ${folder}/rules/some_test.yaml`],
    ['check', 'check --help'],
  ] as const) {
    const { code, stderr } = await shell(`sidegate ${args} > /dev/full`)
    t.equal(
      stderr,
      `sidegate ${name}: standard output cannot be written (ENOSPC); the output is incomplete\n`,
      args,
    )
    t.equal(code, 1, args)
  }
  const version = await shell('sidegate --version > /dev/full')
  t.strictSame(version, {
    code: 1,
    stderr: 'sidegate: standard output cannot be written (ENOSPC); the output is incomplete\n',
  })
})

t.test('a key that could not be printed is revoked, and the command fails', async (t) => {
  const folder = t.testdir()
  const file = await deploy(folder)
  const create = (name: string) => `sidegate keys create --name ${name} --config ${file}`
  const shown = /the key could not be written to standard output and was revoked \((\S+)\); create another\n/
  const full = await shell(`${create('lost')} > /dev/full`)
  t.equal(full.code, 1)
  const [, id] = shown.exec(full.stderr) ?? []
  t.match(full.stderr, /standard output cannot be written \(ENOSPC\); the output is incomplete\n$/)
  const gone = await shell(`set -o pipefail; ${create('unread')} | true`)
  t.match(gone.stderr, shown)
  t.equal(gone.code, 1, 'unlike other output, a key that nobody read is a failure')
  const store = openStore({
    path: join(folder, 'data'),
    clock: systemClock,
    random: randomBytes,
    maxBytes: 1024 ** 3,
  })
  t.teardown(() => store.close())
  const made = (await store.keys.list()).filter(({ name }) => name === 'lost' || name === 'unread')
  t.match(made, [{ id, revokedAtMs: Number }, { revokedAtMs: Number }])
})

t.test('a partial write to a file is reported', async (t) => {
  const folder = t.testdir()
  const file = await deploy(folder)
  for (const args of ['audit export', 'keys list']) {
    const out = join(folder, 'out')
    const { code, stderr } = await shell(`ulimit -f 1; sidegate ${args} --config ${file} > ${out}`)
    t.match(stderr, 'standard output cannot be written (EFBIG)', args)
    t.equal(code, 1, args)
    t.equal(statSync(out).size, 1024, args)
  }
  const whole = join(folder, 'whole')
  t.strictSame(await shell(`sidegate audit export --config ${file} > ${whole}`), { code: 0, stderr: '' })
  t.equal(readFileSync(whole, 'utf8').split('\n').length, 42)
})

t.test('a closed pipe is not a failure', async (t) => {
  const folder = t.testdir()
  const file = await deploy(folder)
  for (const args of ['audit export', 'keys list', 'check']) {
    const line = `sidegate ${args} --config ${file} | true; echo "\${PIPESTATUS[0]}" >&2`
    t.strictSame(await shell(line), { code: 0, stderr: '0\n' }, args)
  }
})
