// The thread that writes the journal's frames to the database (see applying.ts). Reads them
// from the segment files, so that they do not pass through the heap of the main thread.

import { closeSync, openSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { readFrame } from '../journal/journal-reader.ts'
import { Application } from './apply.ts'
import type { ApplierReply, ApplierRequest } from './applying.ts'
import { openLmdb } from './lmdb.ts'

const lmdb = openLmdb(...(workerData as [path: string, mapBytes?: number]))

function apply({ ranges, first }: Exclude<ApplierRequest, 'close'>): void {
  const application = new Application(lmdb)
  let next = first
  for (const { file, ordinal, from, to } of ranges) {
    const handle = openSync(file, 'r')
    try {
      for (let at = from; at < to; ) {
        const frame = readFrame(handle, at)
        if (frame?.number !== next) throw new Error(`frame ${next} cannot be read in ${file}`)
        next++
        at += frame.bytes
        application.add(frame, { frame: next, ordinal, offset: at })
      }
    } finally {
      closeSync(handle)
    }
  }
  application.finish()
}

function answer(reply: ApplierReply): void {
  parentPort?.postMessage(reply)
}

parentPort?.on('message', (request: ApplierRequest) => {
  if (request === 'close') {
    void lmdb.close().then(() => parentPort?.close())
    return
  }
  try {
    apply(request)
    answer({ error: null })
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException
    answer({ error: { message, isBroken: lmdb.isBroken(), ...(code !== undefined && { code }) } })
  }
})
