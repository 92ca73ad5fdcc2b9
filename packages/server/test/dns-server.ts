import { createSocket } from 'node:dgram'
import { Resolver } from 'node:dns/promises'
import { once } from 'node:events'

/**
 * The records of each name, written as in zone files: `{ 'example.test': { A: ['192.0.2.1'], MX: ['10 mx.example.test']
 * } }`.
 */
export type Zone = Record<string, Partial<Record<keyof typeof TYPES, string[]>>>

export interface DnsServer extends AsyncDisposable {
  /** May be changed at any time. */
  zone: Zone
  /** Every question, as `MX example.test`. */
  questions: string[]
  /** Names whose questions are never answered. */
  silent: Set<string>
  /** Where it listens, for `setServers`. */
  address: string
  /** A resolver that asks only this server. */
  resolver: Resolver
}

const TYPES = { A: 1, MX: 15, TXT: 16, AAAA: 28, SRV: 33 } as const
const HEADER_BYTES = 12
const ANSWER = 0x84_00
const NO_SUCH_NAME = 3

/** Starts a name server on loopback over UDP, with what RFC 1035 and RFC 2782 need for one question at a time. */
export async function startDnsServer(zone: Zone = {}): Promise<DnsServer> {
  const socket = createSocket('udp4')
  const questions: string[] = []
  socket.on('message', (message, from) => {
    const answered = answer(message, server.zone, questions)
    if (!server.silent.has(readQuestion(message).name)) socket.send(answered, from.port, from.address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const resolver = new Resolver({ timeout: 1000, tries: 2 })
  const address = `127.0.0.1:${socket.address().port}`
  resolver.setServers([address])
  const server: DnsServer = {
    zone,
    questions,
    silent: new Set(),
    address,
    resolver,
    async [Symbol.asyncDispose]() {
      resolver.cancel()
      socket.close()
      await once(socket, 'close')
    },
  }
  return server
}

function answer(message: Buffer, zone: Zone, questions: string[]): Buffer {
  const { name, type, end } = readQuestion(message)
  questions.push(`${type} ${name}`)
  const values = zone[name]
  const records = type === null ? [] : (values?.[type] ?? []).map(value => record(name, type, value))
  const header = Buffer.alloc(HEADER_BYTES)
  message.copy(header, 0, 0, 2)
  header.writeUInt16BE(ANSWER | (values ? 0 : NO_SUCH_NAME), 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(records.length, 6)
  return Buffer.concat([header, message.subarray(HEADER_BYTES, end), ...records])
}

function readQuestion(message: Buffer) {
  const labels: string[] = []
  let at = HEADER_BYTES
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  const number = message.readUInt16BE(at + 1)
  const type = (Object.keys(TYPES) as (keyof typeof TYPES)[]).find(key => TYPES[key] === number) ?? null
  return { name: labels.join('.').toLowerCase(), type, end: at + 5 }
}

function record(name: string, type: keyof typeof TYPES, value: string): Buffer {
  const data = dataOf(type, value)
  const fixed = Buffer.alloc(10)
  fixed.writeUInt16BE(TYPES[type], 0)
  fixed.writeUInt16BE(1, 2)
  fixed.writeUInt16BE(data.length, 8)
  return Buffer.concat([encodeName(name), fixed, data])
}

function dataOf(type: keyof typeof TYPES, value: string): Buffer {
  if (type === 'A') return Buffer.from(value.split('.').map(Number))
  if (type === 'TXT') return Buffer.concat([Buffer.from([value.length]), Buffer.from(value, 'latin1')])
  if (type === 'AAAA') throw new Error('This server knows no AAAA records')
  const words = value.split(' ')
  const target = words.pop() ?? ''
  const numbers = Buffer.alloc(words.length * 2)
  for (const [index, word] of words.entries()) numbers.writeUInt16BE(Number(word), index * 2)
  return Buffer.concat([numbers, encodeName(target)])
}

function encodeName(name: string): Buffer {
  const labels = name.split('.').filter(Boolean)
  return Buffer.concat([
    ...labels.map(label => Buffer.concat([Buffer.from([label.length]), Buffer.from(label, 'latin1')])),
    Buffer.from([0]),
  ])
}
