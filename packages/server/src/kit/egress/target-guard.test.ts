import { describe, expect, test } from 'vitest'
import { parseEgressAllow } from './allow-list.ts'
import { EgressRefused, EgressUnresolved, type Resolver } from './guard.ts'
import { targetGuard } from './target-guard.ts'

const PUBLIC = '93.184.215.14'
const names: Record<string, string[]> = {
  'hooks.example.com': [PUBLIC],
  'internal.test': ['10.0.0.7'],
  'mixed.test': [PUBLIC, '169.254.169.254'],
  'six.test': ['fd00::7'],
}
const resolve: Resolver = async name =>
  names[name] ?? Promise.reject(Object.assign(new Error(`no ${name}`), { code: 'ENOTFOUND' }))

const guardOf = (allow: string[] = [], allowHttp = false) =>
  targetGuard({ allow: parseEgressAllow(allow), allowHttp, resolve })
const outcomeOf = async (guard: ReturnType<typeof guardOf>, url: string) =>
  guard.resolve(new URL(url)).then(
    ({ addresses, port }) => `${addresses.join(' ')} ${port}`,
    (error: unknown) => (error instanceof Error ? error.name : 'something else'),
  )

/** URLs that lead into a private network, in the spellings that parsers accept. */
const HOSTILE_URLS = [
  '127.0.0.1',
  '127.1',
  '127.0.1',
  '2130706433',
  '0x7f000001',
  '0x7f.1',
  '017700000001',
  '0177.0.0.1',
  '127.0.0.1.',
  '1２7.0.0.1',
  '①②⑦.⓪.⓪.①',
  '127。0。0。1',
  '%31%32%37.0.0.1',
  '0',
  '0.0.0.0',
  '10.0.0.1',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '169.254.169.254',
  '100.64.0.1',
  '0xa9fea9fe',
  '192.0.0.1',
  '198.18.0.1',
  '224.0.0.1',
  '255.255.255.255',
  '203.0.113.7',
  '192.88.99.1',
  '[::1]',
  '[::]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[::127.0.0.1]',
  '[64:ff9b::7f00:1]',
  '[2002:7f00:1::]',
  '[2001:0:4136:e378:8000:63bf:80ff:fffe]',
  '[fe80::1]',
  '[fd00::1]',
  '[fec0::1]',
  '[ff02::1]',
  'localhost',
  'LOCALHOST',
  'localhost.',
  'metadata',
  'db',
  'internal.test',
  'Internal.Test.',
  'mixed.test',
  'six.test',
].map(host => `https://${host}/hook`)

describe('targetGuard', () => {
  test(`refuses ${HOSTILE_URLS.length} spellings of targets that are not public`, async () => {
    const guard = guardOf()
    for (const url of HOSTILE_URLS)
      expect({ url, outcome: await outcomeOf(guard, url) }).toEqual({ url, outcome: 'EgressRefused' })
    await expect(guard.resolve(new URL('https://nowhere.test/'))).rejects.toThrow(EgressUnresolved)
  })

  test.each<[string, string]>([
    ['https://hooks.example.com/', `${PUBLIC} 443`],
    ['https://hooks.example.com:443/', `${PUBLIC} 443`],
    ['https://hooks.example.com:1024/', `${PUBLIC} 1024`],
    ['https://hooks.example.com:65535/', `${PUBLIC} 65535`],
    ['https://hooks.example.com:80/', 'EgressRefused'],
    ['https://hooks.example.com:25/', 'EgressRefused'],
    ['https://hooks.example.com:1023/', 'EgressRefused'],
    ['http://hooks.example.com/', 'PlainHttpRefused'],
    ['http://127.0.0.1:8080/', 'PlainHttpRefused'],
    ['ftp://hooks.example.com/', 'PlainHttpRefused'],
  ])('by default, %s is %s', async (url, outcome) => {
    expect(await outcomeOf(guardOf(), url)).toBe(outcome)
  })

  test.each<[string[], string, string]>([
    [['internal.test'], 'https://internal.test/', '10.0.0.7 443'],
    [['internal.test'], 'https://internal.test:25/', '10.0.0.7 25'],
    [['internal.test:8443'], 'https://internal.test:8443/', '10.0.0.7 8443'],
    [['internal.test:8443'], 'https://internal.test/', 'EgressRefused'],
    [['10.0.0.0/8'], 'https://internal.test/', '10.0.0.7 443'],
    [['10.0.0.0/8'], 'https://mixed.test/', 'EgressRefused'],
    [['internal.test'], 'http://internal.test/', 'PlainHttpRefused'],
  ])('with %j allowed, %s is %s', async (allow, url, outcome) => {
    expect(await outcomeOf(guardOf(allow), url)).toBe(outcome)
  })

  test.each<[string, string]>([
    ['http://internal.test:3000/', '10.0.0.7 3000'],
    ['http://internal.test/', '10.0.0.7 80'],
    ['http://127.0.0.1:3000/', '127.0.0.1 3000'],
    ['http://hooks.example.com/', 'PlainHttpRefused'],
    ['http://hooks.example.com:8080/', 'PlainHttpRefused'],
    ['http://10.0.0.8/', 'PlainHttpRefused'],
    ['http://six.test/', 'PlainHttpRefused'],
    ['http://nowhere.test/', 'PlainHttpRefused'],
    ['http://db/', 'PlainHttpRefused'],
    ['https://hooks.example.com/', `${PUBLIC} 443`],
    ['ftp://internal.test/', 'PlainHttpRefused'],
  ])('with plain HTTP and some targets allowed, %s is %s', async (url, outcome) => {
    expect(await outcomeOf(guardOf(['internal.test', '127.0.0.1'], true), url)).toBe(outcome)
  })

  test('refuses a name that changes to a private address, each time that it has changed', async () => {
    let asked = 0
    const guard = targetGuard({
      allow: parseEgressAllow([]),
      allowHttp: false,
      resolve: async () => (asked++ % 2 === 0 ? [PUBLIC] : ['127.0.0.1']),
    })
    const url = new URL('https://rebind.test/')
    for (let round = 0; round < 500; round++) {
      expect((await guard.resolve(url)).addresses).toEqual([PUBLIC])
      await expect(guard.resolve(url)).rejects.toThrow(EgressRefused)
    }
  })
})
