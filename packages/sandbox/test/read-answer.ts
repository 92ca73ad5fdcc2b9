/** A parsed answer of the sandbox, or a part of one, as `JSON.parse` types it: tests look into answers of every kind. */
export type Parsed = ReturnType<typeof JSON.parse>

export interface Answer {
  status: number
  headers: Headers
  /** The parsed body if it is JSON; otherwise its text. */
  data: Parsed
}

/** Reads a whole answer. */
export async function readAnswer(response: Response): Promise<Answer> {
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.includes('json') ?? false
  return { status: response.status, headers: response.headers, data: isJson ? JSON.parse(text) : text }
}
