import type { Socket } from 'node:net'
import type { LinkFaults } from './fault-proxy.ts'

/** A sender is paused while more than this is held for the other side. */
const HELD_BYTES_MAX = 1 << 20

export interface FaultLinkEvents {
  faults(): LinkFaults
  onClientBytes(bytes: Buffer): void
  onClientClosed(): void
  onGone(): void
}

/** One connection through a fault proxy. */
export class FaultLink {
  readonly #client: Socket
  readonly #server: Socket
  readonly #toServer: OneWay
  readonly #toClient: OneWay
  #isGone = false

  constructor(client: Socket, server: Socket, events: FaultLinkEvents) {
    this.#client = client
    this.#server = server
    const { cutAfterBytes = Infinity, isSilent = false } = events.faults()
    this.#toServer = new OneWay(client, server, () => {
      const { stalled, latencyMs } = events.faults()
      return { isStalled: isSilent || stalled === 'both' || stalled === 'to_server', latencyMs }
    })
    this.#toClient = new OneWay(server, client, () => {
      const { stalled, latencyMs } = events.faults()
      return { isStalled: isSilent || stalled === 'both' || stalled === 'to_client', latencyMs }
    })
    let bytesLeft = cutAfterBytes
    client.setNoDelay()
    server.setNoDelay()
    client.on('data', (bytes: Buffer) => {
      events.onClientBytes(bytes)
      this.#toServer.push(bytes)
    })
    server.on('data', (bytes: Buffer) => {
      this.#toClient.push(bytes.subarray(0, bytesLeft))
      bytesLeft -= bytes.length
      if (bytesLeft <= 0) this.#toClient.push('cut')
    })
    let isClosedByClient = false
    const noteClosed = () => {
      if (!isClosedByClient) events.onClientClosed()
      isClosedByClient = true
    }
    client.once('end', () => {
      noteClosed()
      this.#toServer.push('end')
    })
    server.once('end', () => this.#toClient.push('end'))
    // A loss on one side passes to the other like everything else: not while it is stalled.
    client.on('error', () => this.#toServer.push('cut'))
    server.on('error', () => this.#toClient.push('cut'))
    client.once('close', () => {
      noteClosed()
      if (client.errored !== null) this.#toServer.push('cut')
      this.#leave(events)
    })
    server.once('close', () => this.#leave(events))
  }

  /** Passes on what is held, as far as the faults of now let it. */
  resume(): void {
    this.#toServer.pump()
    this.#toClient.pump()
  }

  cut(): void {
    for (const socket of [this.#client, this.#server]) reset(socket)
    this.#toServer.close()
    this.#toClient.close()
  }

  #leave(events: FaultLinkEvents): void {
    if (this.#isGone || !this.#client.destroyed || !this.#server.destroyed) return
    this.#isGone = true
    this.#toServer.close()
    this.#toClient.close()
    events.onGone()
  }
}

type Item = Buffer | 'end' | 'cut'

/** One direction of a link: holds what comes until it may go on. */
class OneWay {
  readonly #from: Socket
  readonly #to: Socket
  readonly #state: () => { isStalled: boolean; latencyMs: number | undefined }
  readonly #held: Array<{ at: number; item: Item }> = []
  #heldBytes = 0
  #timer: NodeJS.Timeout | undefined

  constructor(from: Socket, to: Socket, state: () => { isStalled: boolean; latencyMs: number | undefined }) {
    this.#from = from
    this.#to = to
    this.#state = state
    to.on('drain', () => this.pump())
  }

  push(item: Item): void {
    this.#held.push({ at: performance.now() + (this.#state().latencyMs ?? 0), item })
    if (item instanceof Buffer) this.#heldBytes += item.length
    if (this.#heldBytes > HELD_BYTES_MAX) this.#from.pause()
    this.pump()
  }

  pump(): void {
    clearTimeout(this.#timer)
    if (this.#state().isStalled) return
    for (let next = this.#held[0]; next; next = this.#held[0]) {
      if (this.#to.writableNeedDrain && next.item !== 'cut') return
      const wait = next.at - performance.now()
      if (wait > 0) {
        this.#timer = setTimeout(() => this.pump(), Math.ceil(wait))
        return
      }
      this.#held.shift()
      this.#pass(next.item)
    }
    if (this.#from.isPaused()) this.#from.resume()
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#held.length = 0
  }

  #pass(item: Item): void {
    if (item === 'end') this.#to.end()
    else if (item === 'cut') {
      reset(this.#to)
      reset(this.#from)
    } else {
      this.#heldBytes -= item.length
      if (!this.#to.destroyed) this.#to.write(item)
    }
  }
}

/** Only TCP has resets. */
function reset(socket: Socket): void {
  if (socket.remotePort === undefined) socket.destroy()
  else socket.resetAndDestroy()
}
