/** The names of a stored message. */
export interface BlobNames {
  id: string
  tenant_id: string
  account_id: string
}

const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
const KEY = new RegExp(`^${UUID}/${UUID}/[0-9a-f]{2}/(${UUID})$`)

/** The key of a stored message: random, below its tenant and account. */
export function blobKey({ id, tenant_id, account_id }: BlobNames): string {
  return `${tenant_id}/${account_id}/${id.slice(-2)}/${id}`
}

/** The id in such a key, or null for any other object. */
export function idOfKey(key: string): string | null {
  return KEY.exec(key)?.[1] ?? null
}
