import { type AddressInfo, createServer } from 'node:net'
import { describe, expect, test } from 'vitest'
import { parseEgressAllow } from './allow-list.ts'
import { connectTo } from './connect.ts'
import { EgressRefused, EgressUnresolved, type Resolver, egressGuard } from './guard.ts'

const nothing = parseEgressAllow([])
const never: Resolver = name => Promise.reject(new Error(`resolved ${name}`))

/** The first, some middle and the last address of each special-purpose range (IANA registries). */
const SPECIAL_IPV4 = [
  ['0.0.0.0', '0.0.0.1', '0.255.255.255'],
  ['10.0.0.0', '10.1.2.3', '10.255.255.255'],
  ['100.64.0.0', '100.100.100.200', '100.127.255.255'],
  ['127.0.0.0', '127.0.0.1', '127.255.255.255'],
  ['169.254.0.0', '169.254.169.254', '169.254.255.255'],
  ['172.16.0.0', '172.17.0.1', '172.31.255.255'],
  ['192.0.0.0', '192.0.0.170', '192.0.0.255'],
  ['192.0.2.0', '192.0.2.255'],
  ['192.31.196.1', '192.52.193.1', '192.175.48.1'],
  ['192.88.99.0', '192.88.99.255'],
  ['192.168.0.0', '192.168.1.1', '192.168.255.255'],
  ['198.18.0.0', '198.19.255.255'],
  ['198.51.100.0', '198.51.100.255'],
  ['203.0.113.0', '203.0.113.255'],
  ['224.0.0.0', '224.0.0.251', '239.255.255.255'],
  ['240.0.0.0', '254.1.1.1', '255.255.255.255'],
].flat()

const SPECIAL_IPV6 = [
  ['::', '::1', '0:0:0:0:0:0:0:1', '0000:0000:0000:0000:0000:0000:0000:0001', '::0.0.0.1', '[::1]', '[::]'],
  [
    '64:ff9b:1::',
    '64:ff9b:1::a00:1',
    '64:ff9b:1:ffff:ffff:ffff:ffff:ffff',
    '64:ff9b::a00:1',
    '64:ff9b::7f00:1',
  ],
  [
    '100::',
    '100::1',
    '100:0:0:1::1',
    '2001::',
    '2001::1',
    '2001:0:ffff:ffff:ffff:ffff:ffff:ffff',
    '2001:1::1',
  ],
  [
    '2001:1::2',
    '2001:1::3',
    '2001:2::1',
    '2001:3::1',
    '2001:4:112::1',
    '2001:10::1',
    '2001:20::1',
    '2001:30::1',
  ],
  ['2001:1ff:ffff:ffff::1', '2001:db8::1', '2001:DB8:ffff::', '2002::', '2002:808:808::1', '2620:4f:8000::1'],
  [
    '3fff::1',
    '3fff:fff:ffff::1',
    '4000::1',
    '5f00::1',
    '8000::1',
    'c000::1',
    'e000::1',
    'f000::1',
    '1::1',
    '1fff::1',
  ],
  ['fc00::1', 'fd00::1', 'fd12:3456:789a::1', 'fdff:ffff::1', 'fe80::1', 'febf::1', 'fec0::1', 'feff::1'],
  ['ff00::1', 'ff02::1', 'ff0e::1', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '::ffff:0:127.0.0.1'],
  [
    '2606:4700::5efe:127.0.0.1',
    '2606:4700::200:5efe:10.0.0.1',
    'fe80::5efe:8.8.8.8',
    '::FFFF:7F00:1',
    '::7f00:1',
  ],
].flat()

function spellings(address: string): string[] {
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number)
  const number = ((a << 24) | (b << 16) | (c << 8) | d) >>> 0
  const hex = (value: number) => value.toString(16)
  const oct = (value: number) => `0${value.toString(8)}`
  const words = `${hex((a << 8) | b)}:${hex((c << 8) | d)}`
  const inverted = `${hex(((a << 8) | b) ^ 0xffff)}:${hex(((c << 8) | d) ^ 0xffff)}`
  return [
    address,
    `${address}.`,
    `${number}`,
    `0x${hex(number)}`,
    `0X${hex(number).toUpperCase()}`,
    oct(number),
    [oct(a), oct(b), oct(c), oct(d)].join('.'),
    [`0x${hex(a)}`, `0x${hex(b)}`, `0x${hex(c)}`, `0x${hex(d)}`].join('.'),
    [a, `0x${hex(b)}`, oct(c), d].join('.'),
    `${a}.${(b << 16) | (c << 8) | d}`,
    `${a}.${b}.${(c << 8) | d}`,
    `00${address}`,
    [...address].map(character => String.fromCodePoint((character.codePointAt(0) ?? 0) + 0xfe_e0)).join(''),
    address.replaceAll('.', '。'),
    `::ffff:${address}`,
    `::ffff:${words}`,
    `[::ffff:${address}]`,
    `0:0:0:0:0:FFFF:${address}`,
    `64:ff9b::${address}`,
    `::${words}`,
    `2002:${words}::1`,
    `2606:4700::5efe:${address}`,
    `2606:4700::200:5efe:${words}`,
    `2001:0:4136:e378:8000:63bf:${inverted}`,
    `64:ff9b:1::${address}`,
  ]
}

const NO_HOSTS = [
  [
    '',
    ' ',
    '.',
    '..',
    'a..b',
    '-a.example',
    'a b.example',
    'http://127.0.0.1',
    '//127.0.0.1',
    'user@127.0.0.1',
  ],
  [
    '127.0.0.1:80',
    '127.0.0.1/8',
    '127.0.0.1#a',
    '127.0.0.1?a',
    'a.example\r\n127.0.0.1',
    'a\0.example',
    '127.1%00',
  ],
  [
    '[::1',
    '::1]',
    '[127.0.0.1]',
    '::1%lo',
    'fe80::1%eth0',
    '[fe80::1%25eth0]',
    '1.2.3.4.5',
    '1e3',
    'a.0x',
    'a.08',
  ],
  ['localhost', 'LOCALHOST', 'localhost.', 'metadata', 'db', 'ip6-localhost', `${'a'.repeat(64)}.example`],
  [
    `${'a.'.repeat(130)}example`,
    '%31%32%37.0.0.1',
    '①②⑦.⓪.⓪.①',
    'a\u202e.example',
    'xn--\u0000',
    '\\\\127.0.0.1\\a',
  ],
].flat()

const corpus = [...new Set([...SPECIAL_IPV4.flatMap(spellings), ...SPECIAL_IPV6, ...NO_HOSTS])]

/** Answers the old spellings of IPv4 as the C library does, and every name with a loopback address. */
const obligingResolver: Resolver = () => Promise.resolve(['127.0.0.1'])

describe('egressGuard', () => {
  test(`refuses all of ${corpus.length} spellings of addresses that are not public`, async () => {
    const guard = egressGuard({ allow: nothing, resolve: obligingResolver })
    expect(corpus.length).toBeGreaterThanOrEqual(300)
    for (const host of corpus) {
      const refusal = await guard.resolve({ host, port: 993, kind: 'imap' }).catch((error: unknown) => error)
      expect(refusal, host).toBeInstanceOf(EgressRefused)
      expect(refusal, host).not.toMatchObject({ detail: expect.stringContaining('port of') })
    }
  })

  test('connects to no loopback listener for any of them, with the resolver of the system', async () => {
    let connections = 0
    const listener = createServer(socket => {
      connections += 1
      socket.destroy()
    })
    await new Promise<void>(resolve => listener.listen(0, '127.0.0.1', resolve))
    const { port } = listener.address() as AddressInfo
    const guard = egressGuard({ allow: nothing, isUsualPort: { imap: () => true } })

    for (const host of corpus) {
      await guard
        .resolve({ host, port, kind: 'imap' })
        .then(destination => connectTo(destination, { timeoutSeconds: 1 }))
        .catch(() => undefined)
    }

    await new Promise(resolve => listener.close(resolve))
    expect(connections).toBe(0)
  })

  test('refuses a name as soon as one of its addresses is private', async () => {
    const guard = egressGuard({
      allow: nothing,
      resolve: async () => ['8.8.8.8', '2606:4700::1', '10.0.0.1'],
    })
    await expect(guard.resolve({ host: 'mail.example', port: 993, kind: 'imap' })).rejects.toThrow(
      EgressRefused,
    )
  })

  test('connects to the checked address, whatever the name resolves to afterwards', async () => {
    const answers = [['93.184.215.14'], ['127.0.0.1']]
    let asked = 0
    const guard = egressGuard({ allow: nothing, resolve: async () => answers[asked++ % 2] ?? [] })

    for (let round = 0; round < 500; round += 1) {
      const { addresses, lookup } = await guard.resolve({ host: 'rebind.example', port: 443, kind: 'https' })
      expect(addresses).toEqual(['93.184.215.14'])
      lookup('rebind.example', { all: true }, (_, found) =>
        expect(found).toEqual([{ address: '93.184.215.14', family: 4 }]),
      )
      await expect(guard.resolve({ host: 'rebind.example', port: 443, kind: 'https' })).rejects.toThrow(
        EgressRefused,
      )
    }
    expect(asked).toBe(1000)
  })

  test('allows public addresses on the usual ports only', async () => {
    const guard = egressGuard({
      allow: nothing,
      resolve: async () => ['8.8.8.8', '2606:4700:4700::1111', '64:ff9b::808:808', '::ffff:1.1.1.1'],
    })
    for (const [kind, ports] of [
      ['imap', [143, 993]],
      ['smtp', [25, 465, 587]],
      ['https', [443]],
    ] as const) {
      for (const port of [...ports, 22, 80, 3306, 5432, 8025]) {
        const answer = guard.resolve({ host: 'Mail.Example.', port, kind })
        if ((ports as readonly number[]).includes(port))
          expect(await answer).toMatchObject({ host: 'mail.example', port })
        else await expect(answer, `${kind} ${port}`).rejects.toThrow(EgressRefused)
      }
    }
    const byAddress = egressGuard({ allow: nothing, resolve: never })
    expect(
      await byAddress.resolve({ host: '[2606:4700:4700::1111]', port: 993, kind: 'imap' }),
    ).toMatchObject({
      addresses: ['2606:4700:4700::1111'],
    })
    expect(await guard.resolve({ host: 'bücher.example', port: 993, kind: 'imap' })).toMatchObject({
      host: 'xn--bcher-kva.example',
    })
  })

  test.each<[string, string, number, boolean]>([
    ['mail.lan', 'mail.lan', 993, true],
    ['MAIL.lan.', 'mail.lan', 1143, true],
    ['mail.lan:1143', 'mail.lan', 1143, true],
    ['mail.lan:1143', 'mail.lan', 993, false],
    ['mail.lan', 'other.lan', 993, false],
    ['10.0.0.0/8', 'mail.lan', 993, true],
    ['10.0.0.0/8', 'mail.lan', 2222, true],
    ['10.0.0.5', '10.0.0.5', 1143, true],
    ['10.0.0.5', '::ffff:10.0.0.5', 143, true],
    ['10.0.0.5:1143', '10.0.0.5', 1143, true],
    ['10.0.0.5:1143', '10.0.0.5', 143, false],
    ['10.0.0.6/31', '10.0.0.5', 143, false],
    ['[fd00::5]:143', 'fd00::5', 143, true],
    ['fd00::/8', 'fd00::5', 5000, true],
    ['localhost', 'localhost', 5000, true],
    ['*.lan', 'mail.lan', 993, false],
  ])('with %s allowed, %s port %i may be reached: %s', async (entry, host, port, isAllowed) => {
    const read = () => parseEgressAllow([entry])
    if (entry.includes('*')) return void expect(read).toThrow(/neither a host/)
    const guard = egressGuard({ allow: read(), resolve: async () => ['10.0.0.5'] })
    const answer = guard.resolve({ host, port, kind: 'imap' })
    if (isAllowed) await expect(answer).resolves.toMatchObject({ port })
    else await expect(answer).rejects.toThrow(EgressRefused)
  })

  test.each(['10.0.0.0/33', '10.0.0.0/', 'a b', 'host:0', 'host:70000', '', 'http://host', '0177.0.0.1'])(
    'refuses %j as an entry of the allow-list',
    entry => expect(() => parseEgressAllow([entry])).toThrow(/neither a host/),
  )

  test('distinguishes a name that does not resolve from one that is refused', async () => {
    const guard = egressGuard({ allow: nothing, resolve: never })
    await expect(guard.resolve({ host: 'gone.example', port: 993, kind: 'imap' })).rejects.toThrow(
      EgressUnresolved,
    )
    const empty = egressGuard({ allow: nothing, resolve: async () => [] })
    await expect(empty.resolve({ host: 'gone.example', port: 993, kind: 'imap' })).rejects.toThrow(
      EgressUnresolved,
    )
  })

  test('drops a socket whose peer was not checked', async () => {
    const listener = createServer(socket => socket.on('error', () => undefined))
    await new Promise<void>(resolve => listener.listen(0, '127.0.0.1', resolve))
    const { port } = listener.address() as AddressInfo
    const guard = egressGuard({ allow: parseEgressAllow(['mail.lan']), resolve: async () => ['127.0.0.1'] })
    const destination = await guard.resolve({ host: 'mail.lan', port, kind: 'imap' })
    const other = await egressGuard({
      allow: parseEgressAllow(['mail.lan']),
      resolve: async () => ['10.0.0.1'],
    }).resolve({ host: 'mail.lan', port, kind: 'imap' })

    const socket = await connectTo(destination, { timeoutSeconds: 60 })
    expect(() => other.checkPeer(socket)).toThrow(EgressRefused)
    expect(socket.destroyed).toBe(true)
    await new Promise(resolve => listener.close(resolve))
  })

  test('reveals nothing about the network to the caller, and the cause to the operator', async () => {
    const guard = egressGuard({ allow: nothing, resolve: async () => ['10.9.8.7'] })
    const refusal = await guard
      .resolve({ host: 'mail.example', port: 993, kind: 'imap' })
      .catch((e: unknown) => e)
    expect(refusal).toMatchObject({ detail: expect.stringContaining('10.9.8.7') })
    expect(String(refusal)).not.toContain('10.9.8.7')
  })
})
