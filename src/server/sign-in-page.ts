// The pages of single sign-on, which a browser shows between the identity provider and the console.
// They hold no script and no style, and load nothing.

import type { ApiAnswer } from './api.ts'

const HEADERS = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
  // The address of a page holds the code of the provider.
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

interface PageContent {
  readonly title: string
  /** Paragraphs, as text. */
  readonly texts: readonly string[]
  readonly link: { readonly path: string; readonly label: string }
  /** Opens the link at once. */
  readonly follows?: true
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => ENTITIES[character]!)

/** @param cookies each a `Set-Cookie` */
export function signInPage(
  status: number,
  { title, texts, link, follows }: PageContent,
  cookies: readonly string[] = [],
): ApiAnswer {
  const path = escapeHtml(link.path)
  const content = [
    '<!doctype html>',
    '<html lang="en">',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width">',
    ...(follows ? [`<meta http-equiv="refresh" content="0;url=${path}">`] : []),
    `<title>${escapeHtml(title)} - Sidegate</title>`,
    `<h1>${escapeHtml(title)}</h1>`,
    ...texts.map((text) => `<p>${escapeHtml(text)}</p>`),
    `<p><a href="${path}">${escapeHtml(link.label)}</a></p>`,
    '',
  ].join('\n')
  return {
    status,
    body: null,
    headers: { ...HEADERS, ...(cookies.length === 0 ? {} : { 'set-cookie': [...cookies] }) },
    text: { type: 'text/html; charset=utf-8', content },
  }
}
