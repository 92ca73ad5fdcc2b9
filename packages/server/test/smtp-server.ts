import { readFile } from 'node:fs/promises'
import { type AddressInfo, type Socket, createServer } from 'node:net'
import { join } from 'node:path'
import { TLSSocket, createSecureContext } from 'node:tls'

export interface SmtpServerOptions {
  user: string
  password: string
  /** A folder of `makeCertificates`. Without it the server offers neither STARTTLS nor TLS. */
  certificates?: string
  /** Uses TLS from the first byte. */
  isImplicitTls?: boolean
  /** If false, nobody can or needs to log in. */
  offersAuth?: boolean
  /** Replaces the answer to AUTH. */
  authAnswer?: string
  /** Delays the answer to AUTH until it resolves. */
  authHold?: Promise<void>
}

export interface SmtpServer extends AsyncDisposable {
  port: number
  /** Every line that was received, over any connection. */
  lines: string[]
  connections: number
}

/** An SMTP server on loopback that only supports logging in (RFC 5321, RFC 3207, RFC 4954 PLAIN). */
export async function startSmtpServer(options: SmtpServerOptions): Promise<SmtpServer> {
  const { certificates, isImplicitTls = false } = options
  const secureContext = certificates
    ? createSecureContext({
        key: await readFile(join(certificates, 'server.key')),
        cert: await readFile(join(certificates, 'server.crt')),
      })
    : undefined
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    smtp.connections += 1
    sockets.add(socket)
    const secure = () => new TLSSocket(socket, { isServer: true, secureContext })
    socket.on('error', () => {})
    if (isImplicitTls) converse(secure(), true)
    else converse(socket, false)

    function converse(stream: Socket, isSecure: boolean, greets = true) {
      let rest = ''
      const say = (...lines: string[]) => stream.write(lines.map(line => `${line}\r\n`).join(''))
      stream.on('error', () => stream.destroy())
      stream.on('data', function onData(chunk: Buffer) {
        const lines = (rest + chunk.toString()).split('\r\n')
        rest = lines.pop() ?? ''
        for (const line of lines) {
          smtp.lines.push(line)
          const [command = '', mechanism, initial] = line.split(' ')
          if (command === 'EHLO') {
            const offers = [
              ...(secureContext && !isSecure ? ['STARTTLS'] : []),
              ...(options.offersAuth === false ? [] : ['AUTH PLAIN']),
            ]
            say(
              ...['smtp.test', ...offers, '8BITMIME'].map(
                (text, at, { length }) => `250${at < length - 1 ? '-' : ' '}${text}`,
              ),
            )
          } else if (command === 'STARTTLS' && secureContext) {
            say('220 go')
            stream.removeListener('data', onData)
            converse(secure(), true, false)
          } else if (command === 'AUTH') {
            const [, user, password] = Buffer.from(initial ?? '', 'base64')
              .toString()
              .split('\0')
            const isRight = mechanism === 'PLAIN' && user === options.user && password === options.password
            const answer = options.authAnswer ?? (isRight ? '235 welcome' : '535 5.7.8 no')
            void (options.authHold ?? Promise.resolve()).then(() => say(answer))
          } else if (command === 'STARTTLS') {
            say('502 5.5.1 not here')
          } else if (command === 'QUIT') {
            say('221 bye')
            stream.end()
          } else say('250 ok')
        }
      })
      if (greets) say('220 smtp.test ESMTP')
    }
  })
  const smtp: SmtpServer = {
    port: 0,
    lines: [],
    connections: 0,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise(resolve => server.close(resolve))
    },
  }
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  smtp.port = (server.address() as AddressInfo).port
  return smtp
}
