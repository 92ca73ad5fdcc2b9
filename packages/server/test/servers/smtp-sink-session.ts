import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { SinkAnswer, SinkState, SinkStep } from './smtp-sink.ts'

const POUR_BYTES = 65_536
const END_OF_DATA = '\r\n.\r\n'

interface Transaction {
  from: string
  mailParameters: string[]
  to: string[]
  rcptParameters: string[][]
}

/** Speaks with one client until it goes. Bytes are read as Latin-1, so that none is changed. */
export function converse(state: SinkState, socket: Socket, connection: number): void {
  const session = new SinkSession(state, socket, connection)
  socket.on('error', () => {})
  if (state.options.isImplicitTls) session.secure()
  else session.listen(socket)
  void session.run().catch(() => socket.destroy())
}

/** Ends the conversation; the connection is gone or must send nothing any more. */
class Over extends Error {}

class SinkSession {
  readonly #state: SinkState
  readonly #connection: number
  #stream: Socket
  #received = ''
  #isEnded = false
  #more = Promise.withResolvers<void>()
  #isSecure = false
  #isKnown: boolean
  #transaction: Transaction | null = null
  #lastReply = ''

  constructor(state: SinkState, socket: Socket, connection: number) {
    this.#state = state
    this.#stream = socket
    this.#connection = connection
    this.#isKnown = state.options.user === undefined
  }

  secure(): void {
    const plain = this.#stream
    plain.removeAllListeners('data')
    // Bytes from before the handshake did not come from the peer of the handshake.
    this.#received = ''
    this.#isSecure = true
    this.listen(
      new TLSSocket(plain, { isServer: true, secureContext: this.#state.secureContext ?? undefined }),
    )
  }

  listen(stream: Socket): void {
    this.#stream = stream
    const wake = () => {
      this.#more.resolve()
      this.#more = Promise.withResolvers()
    }
    stream.on('error', () => stream.destroy())
    stream.on('data', (chunk: Buffer) => {
      this.#received += chunk.toString('latin1')
      wake()
    })
    stream.on('close', () => {
      this.#isEnded = true
      wake()
    })
  }

  async run(): Promise<void> {
    try {
      await this.#answer('connect', '', () => '220 sink.test ESMTP')
      for (;;) await this.#obey(await this.#readLine())
    } catch (error) {
      if (!(error instanceof Over)) throw error
    }
  }

  async #readLine(): Promise<string> {
    return this.#readUntil('\r\n')
  }

  async #readUntil(end: string): Promise<string> {
    const before: string[] = []
    for (;;) {
      const at = this.#received.indexOf(end)
      if (at >= 0) {
        before.push(this.#received.slice(0, at))
        this.#received = this.#received.slice(at + end.length)
        return before.join('')
      }
      // A search copies text that came in pieces, so only what the end may begin in is searched again.
      const searched = Math.max(0, this.#received.length - end.length + 1)
      before.push(this.#received.slice(0, searched))
      this.#received = this.#received.slice(searched)
      if (this.#isEnded) throw new Over()
      await this.#more.promise
    }
  }

  async #obey(line: string): Promise<void> {
    this.#state.commands.push(line)
    const [verb = '', ...words] = line.split(' ')
    const [argument = '', ...parameters] = words
    const address = utf8(/<(.*)>/.exec(argument)?.[1] ?? '')
    switch (verb.toUpperCase()) {
      case 'EHLO':
        return this.#answer('ehlo', argument, () => this.#greetBack())
      case 'STARTTLS':
        await this.#answer('starttls', '', () =>
          this.#state.secureContext ? '220 go' : '502 5.5.1 not here',
        )
        if (this.#state.secureContext && !this.#isSecure) this.secure()
        return
      case 'AUTH':
        return this.#answer('auth', argument, () => this.#logIn(argument, parameters[0]))
      case 'MAIL':
        return this.#answer('mail', address, () => this.#begin(address, parameters))
      case 'RCPT':
        return this.#answer('rcpt', address, () => this.#addRecipient(address, parameters))
      case 'DATA':
        return this.#takeContent()
      case 'RSET':
        this.#transaction = null
        return this.#answer('rset', '', () => '250 2.0.0 ok')
      case 'QUIT':
        await this.#answer('quit', '', () => '221 2.0.0 bye')
        this.#stream.end()
        throw new Over()
      default:
        return this.#answer('other', line, () => '500 5.5.1 what?')
    }
  }

  #greetBack(): string {
    const { extensions, secureContext, options } = this.#state
    const lines = ['sink.test', ...extensions]
    if (secureContext && !this.#isSecure) lines.push('STARTTLS')
    if (options.user !== undefined) lines.push('AUTH PLAIN LOGIN')
    return lines.map((text, at) => `250${at < lines.length - 1 ? '-' : ' '}${text}`).join('\r\n')
  }

  async #logIn(mechanism: string, initial: string | undefined): Promise<string> {
    const { user, password } = this.#state.options
    const decode = (text: string) => Buffer.from(text, 'base64').toString()
    const prompt = async (text: string) => {
      this.#stream.write(`334 ${Buffer.from(text).toString('base64')}\r\n`)
      return decode(await this.#readLine())
    }
    let given: Array<string | undefined>
    if (mechanism.toUpperCase() === 'PLAIN') {
      given = (initial ? decode(initial) : await prompt('')).split('\0').slice(1)
    } else {
      given = [initial ? decode(initial) : await prompt('Username:'), await prompt('Password:')]
    }
    this.#isKnown = given[0] === user && given[1] === password
    return this.#isKnown ? '235 2.7.0 welcome' : '535 5.7.8 no'
  }

  #begin(from: string, mailParameters: string[]): string {
    if (!this.#isKnown) return '530 5.7.0 log in first'
    if (this.#transaction) return '503 5.5.1 nested MAIL'
    this.#transaction = { from, mailParameters, to: [], rcptParameters: [] }
    return '250 2.1.0 ok'
  }

  #addRecipient(address: string, parameters: string[]): string {
    if (!this.#transaction) return '503 5.5.1 MAIL first'
    this.#transaction.to.push(address)
    this.#transaction.rcptParameters.push(parameters)
    return '250 2.1.5 ok'
  }

  async #takeContent(): Promise<void> {
    const transaction = this.#transaction
    await this.#answer('data', '', () =>
      transaction?.to.length ? '354 go on' : '554 5.5.1 no valid recipients',
    )
    if (!transaction || !this.#lastReply.startsWith('3')) return
    while (this.#received === '' && !this.#isEnded) await this.#more.promise
    await this.#answer('content', '', () => null)
    const text = await this.#readContent()
    this.#transaction = null
    const content = text.replaceAll(/(^|\r\n)\./g, '$1')
    const messageId = /^message-id:\s*(\S+)/im.exec(content)?.[1] ?? ''
    const keep = () => this.#state.keep({ ...transaction, content, messageId, at: new Date().toISOString() })
    const answer = await this.#state.ask({ step: 'dot', argument: messageId, connection: this.#connection })
    const isAccepted =
      answer === null ||
      (typeof answer === 'string' ? answer.startsWith('2') : answer.does === 'accept_and_drop')
    if (isAccepted) await keep()
    await this.#carryOut(answer, '250 2.0.0 accepted')
  }

  /** The content up to the dot, with the line end before it. */
  async #readContent(): Promise<string> {
    // An empty content ends with a dot on its first line.
    this.#received = `\r\n${this.#received}`
    return `${(await this.#readUntil(END_OF_DATA)).slice(2)}\r\n`
  }

  /** Asks how to behave; the action of a good server is the default. */
  async #answer(
    step: SinkStep,
    argument: string,
    usual: () => string | null | Promise<string | null>,
  ): Promise<void> {
    const answer = await this.#state.ask({ step, argument, connection: this.#connection })
    const good =
      answer === null || (typeof answer === 'string' && /^[23]/.test(answer)) ? await usual() : null
    await this.#carryOut(answer, good)
  }

  async #carryOut(answer: SinkAnswer | null, usual: string | null): Promise<void> {
    const reply = answer ?? usual
    if (reply === null) return
    if (typeof reply === 'string') {
      this.#lastReply = reply
      this.#stream.write(Buffer.from(`${reply}\r\n`))
      // RFC 5321 section 3.8: 421 ends the connection.
      if (!reply.startsWith('421')) return
      this.#stream.end()
      throw new Over()
    }
    if (reply.does === 'silence') return new Promise(() => {})
    if (reply.does === 'pour') return this.#pour(reply.text)
    this.#stream.destroy()
    throw new Over()
  }

  async #pour(text: string): Promise<never> {
    const chunk = Buffer.from(text.repeat(Math.ceil(POUR_BYTES / text.length)))
    while (this.#stream.writable) {
      this.#state.poured += chunk.length
      const isFlowing = this.#stream.write(chunk)
      await new Promise<void>(resolve => {
        if (isFlowing) return void setImmediate(resolve)
        this.#stream.once('drain', resolve)
        this.#stream.once('close', resolve)
      })
    }
    throw new Over()
  }
}

function utf8(latin1: string): string {
  return Buffer.from(latin1, 'latin1').toString('utf8')
}
