import type { ServerResponse } from 'node:http'

/** Calls back when the last byte of an answer is sent or its connection is gone. */
export function afterSending(outgoing: ServerResponse, done: () => void): void {
  if (outgoing.closed) done()
  else outgoing.once('close', done)
}
