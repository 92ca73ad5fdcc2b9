import { generateKeyPairSync, X509Certificate } from 'node:crypto'
import { makeCertificate } from '../../src/signing/certificate.ts'
import { type Answer, readAnswer } from '../read-answer.ts'
import { type TestSandbox, useSandbox } from '../use-sandbox.ts'

export const REDIRECT = 'http://127.0.0.1:9/callback'
export const MAIL = ['User.Read', 'Mail.ReadWrite', 'Mail.Send']
export const PERSONAL_TENANT = '9188040d-6c67-4c5b-b112-36a304b66dad'

/** Each cloud with a user of an organization there. */
export const CLOUD_USERS = [
  {
    cloud: 'global',
    login: 'login.microsoftonline.com',
    graph: 'graph.microsoft.com',
    user: 'eva@office.test',
  },
  {
    cloud: 'gcc-high',
    login: 'login.microsoftonline.us',
    graph: 'graph.microsoft.us',
    user: 'hugo@agency.test',
  },
  { cloud: 'dod', login: 'login.microsoftonline.us', graph: 'dod-graph.microsoft.us', user: 'ivy@base.test' },
  {
    cloud: 'china',
    login: 'login.partner.microsoftonline.cn',
    graph: 'microsoftgraph.chinacloudapi.cn',
    user: 'jun@shanghai.test',
  },
] as const

export interface TestMicrosoft extends TestSandbox {
  /** Calls a path of a host by a token. */
  get(host: string, path: string, token?: string): Promise<Answer>
  /** Posts a form to the token endpoint. */
  token(form: Record<string, string>, at?: { login?: string; tenant?: string }): Promise<Answer>
  /** URL of the authorization endpoint, with usual parameters and these. */
  authorizeUrl(parameters?: Record<string, string>, at?: { login?: string; tenant?: string }): string
  /** Signs in as a user and returns the parameters that come back. */
  signIn(user: string, url: string, more?: object): Promise<URLSearchParams>
  /** The id of the tenant of a domain. */
  tenantId(domain: string, cloud?: string): Promise<string>
}

export function useMicrosoft(): TestMicrosoft {
  const used = useSandbox()
  return {
    get sandbox() {
      return used.sandbox
    },
    origin: used.origin,
    ask: used.ask,
    get: async (host, path, token) =>
      readAnswer(
        await fetch(`${used.origin(host)}${path}`, {
          redirect: 'manual',
          ...(token !== undefined && { headers: { authorization: `Bearer ${token}` } }),
        }),
      ),
    token: async (form, { login = 'login.microsoftonline.com', tenant = 'common' } = {}) =>
      readAnswer(
        await fetch(`${used.origin(login)}/${tenant}/oauth2/v2.0/token`, {
          method: 'POST',
          body: new URLSearchParams(form),
        }),
      ),
    authorizeUrl(parameters = {}, { login = 'login.microsoftonline.com', tenant = 'common' } = {}) {
      const all = {
        client_id: 'sandbox',
        redirect_uri: REDIRECT,
        response_type: 'code',
        scope: ['openid', 'profile', 'email', 'offline_access', ...MAIL].join(' '),
        state: 'st',
        ...parameters,
      }
      return `https://${login}/${tenant}/oauth2/v2.0/authorize?${new URLSearchParams(all)}`
    },
    async signIn(user, url, more = {}) {
      const { status, data } = await used.ask('POST', '/authorizations', { url, user, ...more })
      if (status !== 201) throw new Error(data.error)
      return new URL(data.redirectUrl).searchParams
    },
    async tenantId(domain, cloud) {
      const { data } = await used.ask('PATCH', '/tenants', { domain, cloud })
      return data.id
    },
  }
}

/** A certificate with its private key, and its thumbprint in hex as Microsoft's library takes it. */
export function makeCredential() {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const certificate = makeCertificate('app.test', publicKey, privateKey)
  return {
    certificate,
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    thumbprint: new X509Certificate(certificate).fingerprint256.replaceAll(':', ''),
  }
}
