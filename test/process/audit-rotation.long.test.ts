// Changes audit.signingKey, then verifies the log with one key, with both, and with another key.

import { generateKeyPairSync } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startGateway } from './gateway.ts'
import { runProgram } from './run-command.ts'

function makeKey(folder: string, name: string): string {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  writeFileSync(join(folder, `${name}.pem`), privateKey.export({ format: 'pem', type: 'pkcs8' }))
  const file = join(folder, `${name}.pub.pem`)
  writeFileSync(file, publicKey.export({ format: 'pem', type: 'spki' }))
  return file
}

t.test('a log verifies with all keys that signed it, and not with fewer', async (t) => {
  const folder = t.testdir()
  const [one, two, other] = ['one', 'two', 'other'].map((name) => makeKey(folder, name)) as [
    string,
    string,
    string,
  ]
  const signers: string[] = []
  for (const key of ['one.pem', 'two.pem']) {
    const gateway = await startGateway({
      upstreamUrl: 'http://127.0.0.1:1/v1',
      folder,
      rules: 'rules: []\n',
      config: { audit: { signingKey: { file: key } } },
    })
    const { body } = await gateway.api('GET', '/audit/checkpoint')
    signers.push(body.public_key)
    writeFileSync(join(folder, 'kept'), body.checkpoint)
    await gateway.stop()
  }
  const config = join(folder, 'sidegate.yaml')
  const exported = await runProgram(['audit', 'export', '--config', config])
  const dump = join(folder, 'export.jsonl')
  writeFileSync(dump, exported.stdout)
  const boots = exported.stdout.split('\n').filter((line) => line.includes('"type":"boot"'))
  const [, second] = boots.map((line) => JSON.parse(line).seq)

  const both = join(folder, 'both.pem')
  writeFileSync(both, readFileSync(one, 'utf8') + readFileSync(two, 'utf8'))
  const named = join(folder, 'named')
  writeFileSync(named, `${signers.join('\n')}\n`)
  const verify = (place: string[], files: string[], format = 'json') => {
    const keys = files.flatMap((file) => ['--public-key', file])
    return runProgram([
      'audit',
      'verify',
      ...place,
      ...keys,
      '--checkpoint',
      join(folder, 'kept'),
      '--format',
      format,
    ])
  }
  for (const place of [
    ['--config', config],
    ['--export', dump],
  ]) {
    for (const files of [[one, two], [both], [named], [named, both]]) {
      const { code, stdout, stderr } = await verify(place, files)
      t.strictSame([code, stderr], [0, ''], stdout)
      const { signatures_checked, checkpoints_agreeing } = JSON.parse(stdout)
      t.strictSame([signatures_checked, checkpoints_agreeing], [true, { elsewhere: 1, beside: 4 }])
    }
    const alone = await verify(place, [one])
    t.equal(alone.code, 1)
    const { findings } = JSON.parse(alone.stdout)
    t.equal(findings.length, 2)
    for (const { reason } of findings) {
      t.match(reason, `the boot entry at ${second} names another signer`)
      t.ok(reason.endsWith(signers[1] as string))
    }
    const pretty = await verify(place, [one], 'pretty')
    t.match(pretty.stdout, /FOUND +.*kept: not signed .*give that key too/)
    t.equal((await verify(place, [other])).code, 1)
  }
  const junk = join(folder, 'junk')
  writeFileSync(junk, `${readFileSync(one, 'utf8')}and more\n`)
  t.match(await verify(['--export', dump], [junk]), { code: 2, stderr: /holds no public key/ })
})
