import { type Socket, connect } from 'node:net'
import type { Destination } from './guard.ts'

/**
 * Opens a plain connection to one of the destination's addresses, tried in turn. Rejects with the socket's last
 * error.
 */
export async function connectTo(
  destination: Destination,
  options: { timeoutSeconds: number; signal?: AbortSignal },
): Promise<Socket> {
  const { host, port, lookup } = destination
  const timeout = AbortSignal.timeout(options.timeoutSeconds * 1000)
  const signal = options.signal ? AbortSignal.any([options.signal, timeout]) : timeout
  const socket = connect({ host, port, lookup, autoSelectFamily: true, noDelay: true })
  const abort = () => socket.destroy(new Error(`No connection in ${options.timeoutSeconds} s`))
  signal.addEventListener('abort', abort, { once: true })
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject)
      socket.once('connect', resolve)
    })
  } finally {
    signal.removeEventListener('abort', abort)
  }
  destination.checkPeer(socket)
  return socket
}
