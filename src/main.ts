#!/usr/bin/env -S node --expose-gc --min-semi-space-size=4 --max-semi-space-size=16 --heap-growing-percent=100 --no-memory-reducer
// Runs the program from source. The first line is the only place that lists the options of Node:
// npm scripts execute this file, and .build.ts copies the line to dist/main.js, which the image
// executes. V8 reads the sizes before any code runs, so that the program cannot set them itself.
//
// --expose-gc lets gateway/memory.ts collect after a busy time, in place of V8's memory reducer,
// which drops compiled code 8 s after a burst. --min-semi-space-size avoids many collections before
// the first answer, a tenth of the start-up time. --max-semi-space-size limits the young generation
// to 32 MiB, where V8 takes 128, and --heap-growing-percent the heap to twice its live size.

import './core/signal-guard.ts'
import { refuseOldNode } from './boot/node-version.ts'

refuseOldNode()
const { run } = await import('./program.ts')
process.exitCode = await run(process.argv.slice(2))
// Open keep-alive connections must not keep the process.
process.exit()
