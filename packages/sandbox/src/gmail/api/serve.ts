import { selectFields } from '../../google/api/fields.ts'
import { answered, json, jsonIn, requireKnownFields } from '../../google/api/json-calls.ts'
import type { Call } from '../../world/calls.ts'
import type { GmailParts } from '../parts.ts'
import { admit, type Admission, type Admitted } from './admission.ts'

/** Answers a call of a method. */
export async function serveMethod(
  gmail: GmailParts,
  admission: Admission,
  request: Request,
  call: Call,
): Promise<Response> {
  return answered(async () => {
    const admitted = admit(admission, request, call, /^\/gmail\/v1\/users\/([^/]+)\/(.+)$/)
    if (admitted instanceof Response) return admitted
    const body = admitted.method.body ? await jsonIn(request) : {}
    return run(gmail, admitted, body, null)
  })
}

/** Runs an admitted call. The body holds only fields that the method has. */
export async function run(
  gmail: GmailParts,
  { method, params, caller, mailbox, url }: Admitted,
  body: Record<string, unknown>,
  media: Buffer | null,
): Promise<Response> {
  if (method.body) requireKnownFields(body, method.body, '')
  const query = url.searchParams
  const answer = await method.run({ gmail, mailbox, caller, params, query, body, media })
  if (!method.answer) return new Response(null, { status: 204 })
  const fields = query.get('fields')
  return json(fields ? selectFields(answer, fields, method.answer) : answer)
}
