import { randomUUID } from 'node:crypto'

/** An error as Graph answers it. Codes of Exchange begin with `Error`. */
export interface GraphError {
  readonly status: number
  readonly code: string
  readonly message: string
  readonly headers?: Readonly<Record<string, string>>
}

export function graphError({ status, code, message, headers = {} }: GraphError): Response {
  const id = randomUUID()
  const innerError = {
    date: new Date().toISOString().slice(0, 19),
    'request-id': id,
    'client-request-id': id,
  }
  return Response.json({ error: { code, message, innerError } }, { status, headers })
}
