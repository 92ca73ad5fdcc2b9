import type { MicrosoftGround } from '../ground.ts'
import { ASSERTION_TYPE } from './assertion.ts'
import type { Client } from './clients.ts'
import { clientProblem, type Endpoint, notInDirectory } from './endpoint.ts'
import { signInError, type SignInError } from './errors.ts'

/** The client of a token request by secret, in the form or by Basic, or by an assertion; otherwise why it is refused. */
export async function authenticateClient(
  { clients, assertions, clock }: MicrosoftGround,
  endpoint: Endpoint,
  form: URLSearchParams,
  authorization: string | undefined,
): Promise<Client | SignInError> {
  const basic = readBasic(authorization)
  const id = basic?.id ?? form.get('client_id')
  if (!id) return missing('client_id')
  const client = clients.find(endpoint.loginHost, id)
  if (!client) return notInDirectory(id, endpoint.name)
  const problem = clientProblem(client, endpoint)
  if (problem) return problem
  const assertion = form.get('client_assertion')
  if (assertion !== null) {
    if (form.get('client_assertion_type') !== ASSERTION_TYPE) return missing('client_assertion_type')
    return (await assertions.check(client, endpoint, assertion)) ?? client
  }
  return secretProblem(client, basic?.secret ?? form.get('client_secret'), clock.now()) ?? client
}

function secretProblem(client: Client, secret: string | null, now: number): SignInError | null {
  if (!secret)
    return signInError(
      7_000_218,
      'invalid_client',
      `The request body must contain the following parameter: 'client_assertion' or 'client_secret'.`,
    )
  if (secret !== client.clientSecret)
    return signInError(
      7_000_215,
      'invalid_client',
      `Invalid client secret provided. Ensure the secret being sent in the request is the client secret value, not the client secret ID, for a secret added to app '${client.clientId}'.`,
    )
  if (client.secretExpiresAt !== null && Date.parse(client.secretExpiresAt) <= now)
    return signInError(
      7_000_222,
      'invalid_client',
      `The provided client secret keys for app '${client.clientId}' are expired. Visit the Azure portal to create new keys for your app.`,
    )
  return null
}

export const missing = (parameter: string): SignInError =>
  signInError(
    900_144,
    'invalid_request',
    `The request body must contain the following parameter: '${parameter}'.`,
  )

function readBasic(authorization: string | undefined): { id: string; secret: string } | null {
  const encoded = /^Basic +(\S+)$/i.exec(authorization ?? '')?.[1]
  if (encoded === undefined) return null
  const text = Buffer.from(encoded, 'base64').toString()
  const colon = text.indexOf(':')
  return { id: decodeSafely(text.slice(0, colon)), secret: decodeSafely(text.slice(colon + 1)) }
}

function decodeSafely(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
