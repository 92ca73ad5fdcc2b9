import { describe, expect, test } from 'vitest'
import { canonicalPath, isMember, isWithin, pathOf, urlOf } from './hrefs.ts'
import { isTrusted, trustedDomainOf } from './trusted-domain.ts'

const base = new URL('https://dav.example.com:8443/home/ada/')

describe('pathOf', () => {
  test.each([
    ['/home/ada/people/', '/home/ada/people'],
    ['/home/ada/people', '/home/ada/people'],
    ['people/1.vcf', '/home/ada/people/1.vcf'],
    ['https://dav.example.com:8443/home/ada/1.vcf', '/home/ada/1.vcf'],
    // A server behind a proxy knows neither its scheme nor its port.
    ['http://dav.example.com/home/ada/1.vcf', '/home/ada/1.vcf'],
    ['https://DAV.example.com/home/ada/1.vcf', '/home/ada/1.vcf'],
    ['  /home/ada/1.vcf\n', '/home/ada/1.vcf'],
    ['/home/a%64a%40x/1.vcf', '/home/ada@x/1.vcf'],
    ['/home/ada@x/No%c3%abl 1.vcf', '/home/ada@x/No%C3%ABl%201.vcf'],
    ['/home/ada@x/Noël%201.vcf', '/home/ada@x/No%C3%ABl%201.vcf'],
    ['/home/a%2Fb/1.vcf', '/home/a%2Fb/1.vcf'],
    ['/home/%e4/1.vcf', '/home/%E4/1.vcf'],
    ['/home/ada/../eve/1.vcf', '/home/eve/1.vcf'],
    ['/home/ada/%2e%2e/eve/1.vcf', '/home/eve/1.vcf'],
    ['/', ''],
  ])('reads %j as %j', (href, path) => {
    expect(pathOf(href, base)).toBe(path)
    expect(canonicalPath(new URL(urlOf(path, base)).pathname)).toBe(path)
  })

  test.each([
    'https://other.example.com/home/ada/1.vcf',
    '//evil.test/home/ada/1.vcf',
    'https://ada:secret@dav.example.com/home/ada/',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'http://[',
  ])('refuses %j', href => expect(pathOf(href, base)).toBeNull())

  test('refuses an href that is too long, and reads many slashes, also in the middle', () => {
    expect(pathOf(`/${'a'.repeat(4_096)}`, base)).toBeNull()
    expect(canonicalPath(`${'/'.repeat(500_000)}x`)).toMatch(/x$/)
    expect(canonicalPath(`/x${'/'.repeat(500_000)}`)).toBe('/x')
  })
})

test.each([
  ['/a/b', '/a', true],
  ['/a/b/c', '/a', false],
  ['/a', '/a', false],
  ['/ab', '/a', false],
  ['/b', '', true],
])('isMember(%j, %j) is %j', (path, parent, expected) => expect(isMember(path, parent)).toBe(expected))

test.each([
  ['/a', '/a', true],
  ['/a/b/c', '/a', true],
  ['/ab', '/a', false],
  ['/b', '/a', false],
])('isWithin(%j, %j) is %j', (path, home, expected) => expect(isWithin(path, home)).toBe(expected))

describe('a password for', () => {
  test.each([
    ['https://contacts.icloud.com/', 'https://p34-contacts.icloud.com:443/1/', true],
    ['https://example.co.uk/', 'https://dav.example.co.uk/', true],
    ['https://dav.example.com/', 'https://example.com:8443/', true],
    ['https://192.0.2.1/', 'https://192.0.2.1:8443/', true],
    ['https://localhost/', 'https://localhost/dav', true],
    ['http://dav.example.com/', 'http://dav.example.com/', true],
    ['http://dav.example.com/', 'https://example.com/', true],
    ['https://dav.example.com/', 'http://dav.example.com/', false],
    ['https://example.co.uk/', 'https://evil.co.uk/', false],
    ['https://ada.github.io/', 'https://eve.github.io/', false],
    ['https://example.com/', 'https://example.com.evil.test/', false],
    ['https://192.0.2.1/', 'https://192.0.2.2/', false],
    ['https://example.com/', 'ftp://example.com/', false],
  ])('%s and %s: %j', (given, url, expected) =>
    expect(isTrusted(new URL(url), trustedDomainOf(new URL(given)))).toBe(expected),
  )
})
