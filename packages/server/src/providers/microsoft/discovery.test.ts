import { describe, expect, test } from 'vitest'
import { parseDocument, pathOf } from './discovery.ts'

const LOGIN = 'login.partner.microsoftonline.cn'
const TID = 'aaaaaaaa-0000-4000-8000-000000000001'
const given = (change: object = {}) => ({
  issuer: 'https://issuer.of.the.cloud.example/{tenantid}/v2.0',
  token_endpoint: `https://${LOGIN}/organizations/oauth2/v2.0/token`,
  jwks_uri: `https://${LOGIN}/organizations/discovery/v2.0/keys`,
  ...change,
})

describe('a discovery document', () => {
  test('names the issuer, which need not be the login host', () => {
    const metadata = parseDocument(given(), LOGIN)
    const issuer = `https://issuer.of.the.cloud.example/${TID}/v2.0`
    expect(metadata?.issuerOf(TID)).toBe(issuer)
    expect(metadata?.isIssuer(issuer)).toBe(true)
    expect(metadata?.keys).toEqual({ host: LOGIN, path: '/organizations/discovery/v2.0/keys' })
    expect(pathOf(metadata?.tokenUrl ?? '')).toBe('/organizations/oauth2/v2.0/token')
  })

  test('may use an older name of the login host, which is not called', () => {
    const jwks_uri = 'https://login.chinacloudapi.cn/common/discovery/v2.0/keys'
    expect(parseDocument(given({ jwks_uri }), LOGIN)?.keys).toEqual({
      host: LOGIN,
      path: '/common/discovery/v2.0/keys',
    })
  })

  test.each<[string, object]>([
    ['leads secrets elsewhere', { token_endpoint: 'https://evil.example/token' }],
    ['leads secrets to another cloud', { token_endpoint: 'https://login.microsoftonline.com/t' }],
    ['takes keys from elsewhere', { jwks_uri: 'https://evil.example/keys' }],
    ['takes keys without TLS', { jwks_uri: `http://${LOGIN}/keys` }],
    ['has one issuer for all directories', { issuer: 'https://sts.example/v2.0' }],
    ['has no token endpoint', { token_endpoint: undefined }],
  ])('is not believed if it %s', (_, change) => {
    expect(parseDocument(given(change), LOGIN)).toBeNull()
  })

  test.each([
    'https://issuer.of.the.cloud.example/common/v2.0',
    `https://issuer.of.the.cloud.example/${TID}/v2.0/`,
    `https://issuer.of.the.cloud.example/${TID}`,
    `https://login.microsoftonline.com/${TID}/v2.0`,
    `https://issuer.of.the.cloud.example/${TID.slice(1)}./v2.0`,
    '',
  ])('does not issue for %s', iss => {
    expect(parseDocument(given(), LOGIN)?.isIssuer(iss)).toBe(false)
  })
})
