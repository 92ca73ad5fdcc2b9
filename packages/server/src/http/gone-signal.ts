import type { ServerResponse } from 'node:http'

/** Aborts when the answer is out or its connection gone, and when the process stops. */
export function goneSignal(outgoing: ServerResponse, stopping: AbortSignal): AbortSignal {
  const gone = new AbortController()
  const end = () => {
    gone.abort()
    outgoing.off('close', end)
    stopping.removeEventListener('abort', end)
  }
  outgoing.once('close', end)
  stopping.addEventListener('abort', end)
  if (outgoing.closed || stopping.aborted) end()
  return gone.signal
}
