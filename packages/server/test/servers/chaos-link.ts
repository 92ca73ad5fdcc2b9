import type { Socket } from 'node:net'
import type { Random } from '../seeded.ts'
import { flood } from './flood.ts'
import { changeAnswer, type Faults, judgeCommand } from './chaos-faults.ts'
import { literalKind, splitImapStream } from './imap-stream.ts'
import { openPacedWriter } from './paced-writer.ts'

export interface LinkEvents {
  faults(): Faults
  onCommand(line: string): void
  onCut(): void
}

/** One connection through the proxy. */
export class ChaosLink {
  private readonly client: Socket
  private readonly server: Socket
  private readonly events: LinkEvents
  private readonly outbox
  private readonly fromClient = splitImapStream({
    line: line => this.hearClient(line),
    literal: piece => this.passLiteral(piece),
  })
  private readonly fromServer = splitImapStream({
    line: line => this.hearServer(line),
    literal: piece => this.say(piece),
  })
  private budget = { lines: Infinity, bytes: Infinity }
  private isSilent = false
  private willFallSilent = false
  /** Fate of the literal and the line that follow the last line of the client. */
  private continuation: 'none' | 'pass' | 'swallow' = 'none'
  /** Commands that wait for their answers, by tag. */
  private readonly asked = new Map<string, string>()
  /** The tag of a command whose literal waits for the server's consent. */
  private waitingTag: string | null = null

  constructor(client: Socket, server: Socket, events: LinkEvents) {
    this.client = client
    this.server = server
    this.events = events
    this.outbox = openPacedWriter(client, events.faults)
    for (const socket of [client, server]) {
      socket.setNoDelay()
      socket.on('error', () => this.close())
    }
    client.on('close', () => this.close())
    server.on('close', () => this.outbox.afterwards(() => this.isMute() || this.close()))
    client.on('data', bytes => void this.hearClientBytes(bytes))
    server.on('data', bytes => this.hearServerBytes(bytes))
  }

  /** Draws when this connection will be cut. */
  arm(random: Random) {
    const { cutAfterLines, cutAfterBytes } = this.events.faults()
    if (cutAfterLines) this.budget.lines = random.between(cutAfterLines.from, cutAfterLines.to)
    if (cutAfterBytes) this.budget.bytes = random.between(cutAfterBytes.from, cutAfterBytes.to)
  }

  bye(text: string) {
    this.client.end(`* BYE ${text}\r\n`)
    this.server.destroy()
  }

  close() {
    this.client.destroySoon()
    this.server.destroy()
  }

  private cut() {
    this.events.onCut()
    this.close()
  }

  private isMute() {
    return this.isSilent || this.events.faults().isSilent === true
  }

  private async hearClientBytes(bytes: Buffer) {
    const held = this.events.faults().hold?.(bytes.toString('latin1'))
    if (held) {
      this.client.pause()
      await held
      this.client.resume()
    }
    if (!this.isMute()) this.fromClient.push(bytes)
  }

  private hearServerBytes(bytes: Buffer) {
    this.client.cork()
    this.fromServer.push(bytes)
    this.client.uncork()
  }

  private hearServer(line: Buffer) {
    const faults = this.events.faults()
    const heard = line.toString('latin1')
    // A tagged answer in place of '+': the literal that was announced will not come.
    if (this.waitingTag !== null && heard.startsWith(`${this.waitingTag} `)) {
      this.waitingTag = null
      this.continuation = 'none'
      this.fromClient.dropLiteral()
    }
    const tag = heard.slice(0, heard.indexOf(' '))
    const command = this.asked.get(tag)
    this.asked.delete(tag)
    if (command !== undefined && faults.judge?.('answered', command) === 'cut') return this.cut()
    const said = changeAnswer(heard, faults)
    if (said !== null) this.say(Buffer.from(`${said}\r\n`, 'latin1'))
    if (--this.budget.lines === 0) this.outbox.afterwards(() => this.cut())
    if (this.willFallSilent && heard.startsWith('+')) {
      this.outbox.afterwards(() => {
        this.isSilent = true
      })
    }
  }

  private say(bytes: Buffer) {
    if (this.isMute() || this.budget.bytes <= 0) return
    this.outbox.write(bytes.length > this.budget.bytes ? bytes.subarray(0, this.budget.bytes) : bytes)
    this.budget.bytes -= bytes.length
    if (this.budget.bytes <= 0) this.outbox.afterwards(() => this.cut())
  }

  private hearClient(line: Buffer) {
    const text = line.toString('latin1')
    const before = this.continuation
    const literal = literalKind(text)
    if (before !== 'none' || /^DONE$/i.test(text)) {
      this.continuation = literal === 'none' ? 'none' : before
      if (literal !== 'waits') this.waitingTag = null
      if (before !== 'swallow') this.server.write(Buffer.concat([line, CRLF]))
      return
    }
    this.events.onCommand(text)
    const faults = this.events.faults()
    const [tag = '', command = ''] = [text.slice(0, text.indexOf(' ')), text.slice(text.indexOf(' ') + 1)]
    if (faults.judge?.('asked', command) === 'cut') return this.cut()
    this.asked.set(tag, command)
    const fate = judgeCommand(text, faults)
    this.willFallSilent = fate.type === 'idle' && faults.isSilentAfterIdle === true
    if (fate.type === 'cut') this.cut()
    else if (fate.type === 'flood') {
      if (literal === 'waits') this.fromClient.dropLiteral()
      flood(this.client, fate.text)
    } else if (fate.type === 'answer') {
      this.continuation = literal === 'comes' ? 'swallow' : 'none'
      if (literal === 'waits') this.fromClient.dropLiteral()
      this.say(Buffer.from(`${fate.line}\r\n`, 'latin1'))
    } else {
      this.continuation = literal === 'none' ? 'none' : 'pass'
      this.waitingTag = literal === 'waits' ? text.slice(0, text.indexOf(' ')) : null
      this.server.write(Buffer.from(`${fate.line}\r\n`, 'latin1'))
    }
  }

  private passLiteral(piece: Buffer) {
    if (this.continuation !== 'swallow') this.server.write(piece)
  }
}

const CRLF = Buffer.from('\r\n')
