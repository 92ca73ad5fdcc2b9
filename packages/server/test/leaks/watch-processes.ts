import { ChildProcess } from 'node:child_process'
import dgram from 'node:dgram'
import net from 'node:net'
import { note } from './ledger.ts'

/** Notes each child process. */
export function watchProcesses(): void {
  // Every function that starts one calls this method, which the types leave out.
  const child = ChildProcess.prototype as unknown as {
    spawn(this: ChildProcess, ...args: unknown[]): unknown
  }
  const { spawn } = child
  child.spawn = function (...args) {
    const result = spawn.apply(this, args)
    const isOpen = () => this.pid !== undefined && this.exitCode === null && this.signalCode === null
    note('child process', () => `${this.pid} ${this.spawnargs.join(' ')}`, isOpen)
    return result
  }
}

/** Notes each socket on which something listens. */
export function watchListeners(): void {
  const server = net.Server.prototype as unknown as { listen(this: net.Server, ...args: unknown[]): unknown }
  const { listen } = server
  server.listen = function (...args) {
    note(
      'listening socket',
      () => JSON.stringify(this.address()),
      () => this.listening,
    )
    return listen.apply(this, args)
  }
  const socket = dgram.Socket.prototype as unknown as {
    bind(this: dgram.Socket, ...args: unknown[]): unknown
  }
  const { bind } = socket
  socket.bind = function (...args) {
    let isClosed = false
    this.once('close', () => (isClosed = true))
    note(
      'listening socket',
      () => 'UDP',
      () => !isClosed,
    )
    return bind.apply(this, args)
  }
}
