import { describe, expect, test } from 'vitest'
import { clientAddresses } from './client-address.ts'

describe('clientAddresses', () => {
  const openDirect = clientAddresses([])
  const openProxied = clientAddresses(['10.0.0.0/8', '2001:db8:ffff::/48'])
  const direct = (...from: Parameters<typeof openDirect>) => openDirect(...from).group
  const proxied = (...from: Parameters<typeof openDirect>) => openProxied(...from).group

  test('uses the peer, and ignores headers of an untrusted one', () => {
    expect(direct('203.0.113.5', '198.51.100.1')).toBe(direct('203.0.113.5', undefined))
    expect(proxied('203.0.113.5', '198.51.100.1')).toBe(proxied('203.0.113.5', undefined))
  })

  test.each([
    ['one proxy', '10.0.0.1', '198.51.100.1'],
    ['a chain of proxies', '10.0.0.1', '198.51.100.1, 10.2.2.2'],
    ['addresses that the client invented', '10.0.0.1', '1.1.1.1, 10.9.9.9, 198.51.100.1'],
    ['a proxy over IPv6', '2001:db8:ffff::1', '198.51.100.1'],
    ['a peer in IPv4-mapped spelling', '::ffff:10.0.0.1', '198.51.100.1'],
  ])('finds the client behind %s', (_, peer, header) => {
    expect(proxied(peer, header)).toBe(direct('198.51.100.1', undefined))
  })

  test('uses the proxy if the header is unreadable', () => {
    for (const header of ['', 'unknown', '198.51.100.1:1234, for=x', ',,,']) {
      expect(proxied('10.0.0.1', header)).toBe(direct('10.0.0.1', undefined))
    }
  })

  test('counts each IPv4 address and each /64 of IPv6 as one client', () => {
    expect(direct('2001:db8::1', undefined)).toBe(direct('2001:db8::ffff:2', undefined))
    expect(direct('2001:db8::1', undefined)).not.toBe(direct('2001:db8:0:1::1', undefined))
    expect(direct('203.0.113.5', undefined)).not.toBe(direct('203.0.113.6', undefined))
    expect(direct('::ffff:203.0.113.5', undefined)).toBe(direct('203.0.113.5', undefined))
    expect(direct('fe80::1%eth0', undefined)).toBe(direct('fe80::2', undefined))
  })

  test.each([
    ['203.0.113.5', undefined, '203.0.113.5'],
    ['::ffff:203.0.113.5', undefined, '203.0.113.5'],
    ['fe80::1%eth0', undefined, 'fe80::1'],
    ['10.0.0.1', '1.1.1.1, 198.51.100.1, 10.2.2.2', '198.51.100.1'],
    ['10.0.0.1', ' 2001:DB8::7 ', '2001:DB8::7'],
    ['10.0.0.1', 'nonsense', '10.0.0.1'],
    [undefined, '198.51.100.1', null],
  ])('names the address of the client of %s with %s', (peer, header, address) => {
    expect(openProxied(peer, header).address).toBe(address)
  })
})
