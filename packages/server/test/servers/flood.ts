import type { Socket } from 'node:net'

/** Sends the same text for as long as the other side reads. */
export function flood(socket: Socket, text: string): void {
  const chunk = Buffer.from(text.repeat(Math.max(1, Math.floor(65_536 / text.length))), 'latin1')
  const pour = () => {
    // In pieces, so that the test's own part of the event loop stays small.
    if (!socket.writable) return
    if (socket.write(chunk)) setImmediate(pour)
  }
  socket.on('drain', pour)
  pour()
}
