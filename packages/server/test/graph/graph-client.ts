import type { DrivenSandbox } from '../servers/sandbox.ts'

/** The OAuth client of the other client, by which its calls can be distinguished from those of the service. */
const OTHER_CLIENT = 'another-client'
const SCOPES = ['Mail.ReadWrite', 'Mail.Send']

// oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every kind
type Json = any

/** Another client of a mailbox of the sandbox's Graph. */
export interface GraphClient {
  /** Makes a call below the mailbox. Throws unless it succeeds. */
  ask(method: string, path: string, body?: unknown): Promise<Json>
  /** Every item of a list, over all its pages. */
  all(path: string): Promise<Json[]>
  /** The source of a message. */
  source(id: string): Promise<Buffer>
  createFolder(name: string): Promise<string>
  move(ids: readonly string[], folderId: string): Promise<void>
}

const BATCH_PARTS_MAX = 20

/** Opens another client of a mailbox of the sandbox. */
export async function openGraphClient(
  sandbox: DrivenSandbox,
  email: string,
  { cloud = 'global', host = 'graph.microsoft.com' } = {},
): Promise<GraphClient> {
  const client = { provider: 'microsoft', cloud, clientId: OTHER_CLIENT, clientSecret: OTHER_CLIENT }
  await sandbox.addClient(client).catch(() => {})
  const scopes = SCOPES.map(scope => `https://${host}/${scope}`)
  const { accessToken } = await sandbox.grant(email, scopes, OTHER_CLIENT, { provider: 'microsoft', cloud })
  const open = async (method: string, path: string, body?: unknown): Promise<Response> => {
    const response = await fetch(`${sandbox.origin(host)}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${accessToken}`,
        prefer: 'IdType="ImmutableId"',
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
    return response
  }
  const send = async (method: string, path: string, body?: unknown): Promise<Json> => {
    const text = await (await open(method, path, body)).text()
    return text === '' ? undefined : JSON.parse(text)
  }
  const ask: GraphClient['ask'] = (method, path, body) => send(method, `/v1.0/me/${path}`, body)
  return {
    ask,
    async all(path) {
      const found = []
      for (let page = await ask('GET', path); ;) {
        found.push(...page.value)
        const next = page['@odata.nextLink']
        if (next === undefined) return found
        const { pathname, search } = new URL(next)
        page = await send('GET', `${pathname}${search}`)
      }
    },
    async source(id) {
      const response = await open('GET', `/v1.0/me/messages/${encodeURIComponent(id)}/$value`)
      return Buffer.from(await response.arrayBuffer())
    },
    createFolder: async displayName => (await ask('POST', 'mailFolders', { displayName })).id,
    async move(ids, destinationId) {
      for (let at = 0; at < ids.length; at += BATCH_PARTS_MAX) {
        const requests = ids.slice(at, at + BATCH_PARTS_MAX).map((id, index) => ({
          id: String(index + 1),
          method: 'POST',
          url: `/me/messages/${encodeURIComponent(id)}/move`,
          headers: { 'Content-Type': 'application/json', Prefer: 'IdType="ImmutableId"' },
          body: { destinationId },
          ...(index > 0 && { dependsOn: [String(index)] }),
        }))
        const { responses } = await send('POST', '/v1.0/$batch', { requests })
        const failed = responses.find(({ status }: Json) => status !== 201)
        if (failed) throw new Error(JSON.stringify(failed))
      }
    },
  }
}
