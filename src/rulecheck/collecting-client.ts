// A client without a socket that collects what the pipeline sends.

import { GatewayError } from '../core/errors.ts'
import type { Client } from '../pipeline/call/client.ts'

/** For the second half of a call: it receives an answer and has no request body. */
export class CollectingClient implements Client {
  readonly headers = {}
  readonly certificate = null
  readonly arrivedMs = 0
  readonly interrupted: boolean = false
  readonly cancelled: boolean = false
  /** The body of the answer, or the whole stream. */
  text = ''

  onCancel(): void {}
  onDelivered(): void {}
  interrupt(): void {}

  readBody(..._: Parameters<Client['readBody']>): Promise<Buffer> {
    return Promise.reject(new GatewayError('bad_request', 'There is no body to read.'))
  }

  respond(_status: number, _headers: Readonly<Record<string, string>>, body: string | Buffer): void {
    this.text = body.toString()
  }

  startStream(): void {}

  write(text: string): undefined {
    this.text += text
  }

  end(text: string): void {
    this.text += text
  }

  fail(error: GatewayError): void {
    throw error
  }
}
