import type { Accounts } from './accounts.ts'
import type { Client } from './clients.ts'
import { oauthError } from './errors.ts'

/** The client of a token request (RFC 6749 section 2.3), by form or by Basic; otherwise the answer that refuses it. */
export function authenticateClient(
  accounts: Accounts,
  form: URLSearchParams,
  authorization: string | undefined,
): Client | Response {
  const [id, secret] = readBasic(authorization) ?? [form.get('client_id'), form.get('client_secret')]
  if (!id) return oauthError(400, 'invalid_request', 'Could not determine client ID from request.')
  const client = accounts.clients.get(id)
  if (!client) return oauthError(401, 'invalid_client', 'The OAuth client was not found.')
  if (!secret) return oauthError(400, 'invalid_request', 'client_secret is missing.')
  if (secret !== client.clientSecret) {
    return oauthError(401, 'invalid_client', 'The provided client secret is invalid.')
  }
  return client
}

function readBasic(authorization: string | undefined): [string, string] | null {
  const encoded = /^Basic +(\S+)$/i.exec(authorization ?? '')?.[1]
  if (encoded === undefined) return null
  const text = Buffer.from(encoded, 'base64').toString()
  const colon = text.indexOf(':')
  return [decodeURIComponent(text.slice(0, colon)), decodeURIComponent(text.slice(colon + 1))]
}
