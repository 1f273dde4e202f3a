// Five requests of a user, as in sequence.toml. Bodies are kept only where one is read.
import http from 'k6/http';
import { check } from 'k6';

export const options = { discardResponseBodies: true, systemTags: ['status', 'method'] };

export default function () {
    const token = http.get(`${__ENV.BASE}/token`, { responseType: 'text' }).json('token');
    const params = { headers: { Authorization: `Bearer ${token}` } };
    for (const path of ['/list', '/item', '/cart', '/order']) {
        check(http.get(`${__ENV.BASE}${path}`, params), { 'status is 200': (response) => response.status === 200 });
    }
}

export function handleSummary(data) {
    return { stdout: JSON.stringify(data.metrics) };
}
