import { describe, expect, test } from 'vitest'
import { ProviderFailure } from '../failure.ts'
import { toFailure } from './failure.ts'

const login = (response: string, serverResponseCode?: string) =>
  Object.assign(new Error('Command failed'), {
    authenticationFailed: true,
    responseStatus: 'NO',
    response,
    serverResponseCode,
  })
const refused = (responseText: string, code?: string, responseStatus = 'NO') =>
  Object.assign(new Error('Command failed'), {
    responseStatus,
    responseText,
    response: {
      attributes: code ? [{ type: 'ATOM', value: '', section: [{ type: 'ATOM', value: code }] }] : [],
    },
  })

describe('toFailure', () => {
  test.each([
    ['a wrong password', login('Authentication failed.', 'AUTHENTICATIONFAILED'), 'login_failed'],
    ['a wrong password without a code', login('LOGIN failed.'), 'login_failed'],
    ['an expired password', login('Expired', 'EXPIRED'), 'login_failed'],
    ['a directory that is down', login('Temporary authentication failure.', 'UNAVAILABLE'), 'unavailable'],
    [
      'a directory that is down, without a code',
      login('Temporary authentication failure. Try again later.'),
      'unavailable',
    ],
    ['a mailbox in use', login('Mailbox locked', 'INUSE'), 'unavailable'],
    ['too many connections by code', login('Maximum exceeded', 'LIMIT'), 'throttled'],
    ['too many connections by word', login('Too many simultaneous connections. (Failure)'), 'throttled'],
    ['a login without TLS', login('TLS required', 'PRIVACYREQUIRED'), 'not_allowed'],
    [
      'no login by password',
      Object.assign(new Error('Login is disabled'), { authenticationFailed: true }),
      'unsupported',
    ],
    ['a missing mailbox', refused("Mailbox doesn't exist: Doomed", 'NONEXISTENT'), 'not_found'],
    ['a missing mailbox without a code', refused('Unknown Mailbox: Doomed (Failure)'), 'not_found'],
    ['a forbidden mailbox', refused('Permission denied', 'NOPERM'), 'forbidden'],
    ['a broken server', refused('Internal error occurred', 'SERVERBUG'), 'unavailable'],
    ['a command that it does not know', refused('Unknown command', undefined, 'BAD'), 'rejected'],
    ['a session whose login lapsed', refused('Log in again', 'AUTHENTICATIONFAILED'), 'unavailable'],
    [
      'a goodbye over connections',
      Object.assign(new Error('x'), {
        code: 'NoConnection',
        reason: 'Maximum number of connections from user+IP exceeded',
      }),
      'throttled',
    ],
    [
      'a goodbye',
      Object.assign(new Error('x'), { code: 'NoConnection', reason: 'Server is shutting down' }),
      'unavailable',
    ],
    [
      'a socket that ends',
      Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }),
      'unavailable',
    ],
    [
      'a certificate that does not fit',
      Object.assign(new Error('altnames'), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' }),
      'unavailable',
    ],
    [
      'no STARTTLS',
      Object.assign(new Error('Server does not support STARTTLS'), { tlsFailed: true }),
      'unsupported',
    ],
    [
      'injected octets',
      Object.assign(new Error('x'), { code: 'STARTTLS_INJECTION', tlsFailed: true }),
      'unavailable',
    ],
    ['something thrown that is no error', 'what', 'unavailable'],
  ])('recognises %s', (_, error, kind) => {
    expect(toFailure(error)).toMatchObject({ name: 'ProviderFailure', kind })
  })

  test('returns a ProviderFailure unchanged, and the pause that a server demands', () => {
    const failure = new ProviderFailure('forbidden', 'no')
    expect(toFailure(failure)).toBe(failure)
    expect(
      toFailure(Object.assign(new Error('x'), { code: 'ETHROTTLE', throttleReset: 92_415 })),
    ).toMatchObject({ kind: 'throttled', retryAfterSeconds: 93 })
  })

  test("shows at most one line of the server's text", () => {
    const { message } = toFailure(refused(`a\r\n\u001b[2J${'x'.repeat(5000)}`))
    expect(message.length).toBeLessThan(250)
    expect(message).not.toMatch(/[\u0000-\u001f]/)
  })
  const coded = (message: string, code: string, more = {}) =>
    Object.assign(new Error(message), { code, ...more })

  test.each<[thrown: unknown, words: RegExp]>([
    [new TypeError('prefix.charAt is not a function'), /sent something that cannot be understood\.$/],
    [coded('Unexpected char at position 3 [E16: "x"]', 'ParserError16'), /cannot be understood\.$/],
    [coded('Failed to process server response', 'ResponseProcessingFailed'), /cannot be understood\.$/],
    [
      coded('Line length 9 exceeds maximum allowed size of 8 bytes', 'LineTooLarge'),
      /more than an answer may/,
    ],
    [coded('connect ECONNREFUSED 127.0.0.1:1', 'ECONNREFUSED'), /failed: it was refused\.$/],
    [
      new AggregateError([coded('connect EHOSTUNREACH ::1:1', 'EHOSTUNREACH')], 'All failed'),
      /no way to the server\.$/,
    ],
    ...['EACCES', 'EPERM', 'ENETDOWN', 'EHOSTDOWN', 'ENOBUFS'].map((code): [unknown, RegExp] => [
      coded(`connect ${code} 192.0.2.1:993`, code, { errno: -1 }),
      /no way to the server\.$/,
    ]),
    [
      coded('connect ENOMEM', 'ENOMEM', { errno: -12 }),
      /failed: the operating system of this service reported/,
    ],
    [coded('read ECONNRESET', 'ECONNRESET'), /failed: the server ended it\.$/],
    [coded('Socket timeout', 'ETIMEOUT'), /did not answer in time\.$/],
    [coded('Connection not available', 'NoConnection'), /failed: it has ended\.$/],
    [coded('x', 'NoConnection', { reason: 'Server is shutting down' }), /failed: Server is shutting down$/],
    [
      Object.assign(new Error('Command failed'), { authenticationFailed: true, responseStatus: 'NO' }),
      /^The server refused the login\.$/,
    ],
    ['what', /cannot be understood\.$/],
  ])('puts errors of libraries into its own words: %s', (error, message) => {
    expect(toFailure(error).message).toMatch(message)
  })

  test.each([
    [
      'Hostname/IP does not match certificate: altnames: x',
      'ERR_TLS_CERT_ALTNAME_INVALID',
      'for another name',
    ],
    ['certificate has expired', 'CERT_HAS_EXPIRED', 'has expired'],
    ['self-signed certificate', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'WAXWING_CA_FILE'],
    ['error:0A000102:SSL routines::unsupported protocol', 'ERR_SSL_UNSUPPORTED_PROTOCOL', 'TLS 1.2'],
    [
      'error:0A00010B:SSL routines::wrong version number',
      'ERR_SSL_WRONG_VERSION_NUMBER',
      'security starttls',
    ],
    ['error:0A000410:SSL routines::ssl/tls alert handshake failure', 'ERR_SSL_X', 'no way of encryption'],
    [
      'error:0A00045C:SSL routines:ssl3_read_bytes:tlsv13 alert certificate required',
      'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED',
      'it wants a certificate from this service',
    ],
    [
      'error:0A000412:SSL routines::ssl/tls alert bad certificate',
      'ERR_SSL_X',
      'it wants a certificate from',
    ],
    ['error:0A000418:SSL routines::tlsv1 alert unknown ca', 'ERR_SSL_X', 'it wants a certificate from'],
    ['error:0A000086:SSL routines::certificate verify failed', 'ERR_SSL_X', 'its certificate is not valid'],
    ['error:0A00018F:SSL routines::ee key too small', 'ERR_SSL_EE_KEY_TOO_SMALL', 'the handshake failed'],
  ])('puts the reason for a missing secure connection into its own words: %s', (text, code, words) => {
    const { message } = toFailure(coded(text, code))
    expect(message).toMatch(/^No secure connection to the server: /)
    expect(message).toContain(words)
    expect(message).not.toMatch(/error:|SSL routines|altnames/)
  })
})
