import { expect, test } from 'vitest'
import { scrub } from './scrub.ts'

const LONG = 'c2VjcmV0_c2VjcmV0-c2VjcmV0.c2VjcmV0'
const CLIENT_SECRET = 'abc8Q~c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0'
const PEM = `-----BEGIN PRIVATE KEY-----\nc2VjcmV0\nc2VjcmV0+/=\n-----END PRIVATE KEY-----`

test.each([
  ['an access token of Google', 'got ya29.c2VjcmV0', 'got [redacted]'],
  ['a refresh token of Google', 'got 1//c2VjcmV0c2Vj', 'got [redacted]'],
  ['a refresh token of Microsoft', `got 1.AXoA${LONG}.`, 'got [redacted]'],
  ['an older refresh token of Microsoft', `got 0.AXoA${LONG}`, 'got [redacted]'],
  ['a refresh token of a personal account', `got M.C5_SN1.0.U.-${LONG}!*$$ now`, 'got [redacted] now'],
  [
    'a client secret of Microsoft',
    `the secret '${CLIENT_SECRET}' is wrong`,
    `the secret '[redacted]' is wrong`,
  ],
  ['an assertion', 'client_assertion=eyJhbGciOiJQUzI1NiJ9.c2VjcmV0.c2VjcmV0', 'client_assertion=[redacted]'],
  ['a private key', `read ${PEM} here`, 'read [redacted] here'],
  ['a private key that is cut off', `read ${PEM.slice(0, 40)}`, 'read [redacted]'],
  ['an RSA private key', PEM.replaceAll('PRIVATE', 'RSA PRIVATE'), '[redacted]'],
])('takes out %s', (_, text, clean) => {
  expect(scrub(text)).toBe(clean)
})

test.each([
  ['a version', 'Waxwing 1.0.0 and 0.A1'],
  [
    'an error of Microsoft',
    "AADSTS7000215: Invalid client secret provided for app '3f0c0000-0000-4000-8000-000000000000'.",
  ],
  ['a certificate', '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----'],
])('leaves %s', (_, text) => {
  expect(scrub(text)).toBe(text)
})
